// Package control has the commands by which people steer runs and domains: pause, stop,
// block, retry, set, the lists and the schedules.
package control
