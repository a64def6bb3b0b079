package temporal

import (
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

const (
	clusterName = "active"
	// clusterID is written to the database, and has to stay.
	clusterID = "mosey"
)

func serverConfig(store *config.SQL, p ports) *config.Config {
	const archivalOff = "disabled"
	frontend := address(p[primitives.FrontendService])
	services := make(map[string]config.Service)
	for name, port := range p {
		services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
	}
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{
				MaxJoinDuration:  30 * time.Second,
				BroadcastAddress: loopback,
			},
		},
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{
				sqliteplugin.PluginName: {SQL: store},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {
					Enabled:                true,
					InitialFailoverVersion: 1,
					RPCAddress:             frontend,
					ClusterID:              clusterID,
				},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival: config.Archival{
			History:    config.HistoryArchival{State: archivalOff},
			Visibility: config.VisibilityArchival{State: archivalOff},
		},
		NamespaceDefaults: config.NamespaceDefaults{
			Archival: config.ArchivalNamespaceDefaults{
				History:    config.HistoryArchivalNamespaceDefaults{State: archivalOff},
				Visibility: config.VisibilityArchivalNamespaceDefaults{State: archivalOff},
			},
		},
		PublicClient: config.PublicClient{HostPort: frontend},
	}
}

func staticHosts(p ports) map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts)
	for name, port := range p {
		hosts[name] = static.SingleLocalHost(address(port))
	}
	return hosts
}

// shards is fixed for the life of a database file. A shard lets one write at a
// time begin, and waits for it; with one shard that idles two cores at 86 no-op
// pages a second, with 4 they do 158, with 8 168, with 16 171.
const shards = 8

// queueWorkers is how many tasks of a kind the history service carries out at a time.
const queueWorkers = 64

// settings are the server's dynamic configuration.
func settings() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// Several partitions spread a task queue over hosts. On one host, tasks and polls that miss
		// each other are only forwarded between them: a seventh of the server's work.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// A timer that is due sooner than this is put off by as much: with the
		// default of a second, a delay of 200 ms took more than a second.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,
		// A worker that has just scheduled an activity gets it with the answer.
		dynamicconfig.EnableActivityEagerExecution.Key(): true,
		// Each worker of the history service's queues keeps the stack of its last task.
		// All of them wait for the one writer that SQLite has.
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():                  queueWorkers,
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():               queueWorkers,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key():             queueWorkers,
		dynamicconfig.ArchivalProcessorSchedulerWorkerCount.Key():               1,
		dynamicconfig.ReplicationProcessorSchedulerWorkerCount.Key():            1,
		dynamicconfig.ReplicationLowPriorityProcessorSchedulerWorkerCount.Key(): 1,
		// Workflows kept in memory. Most that are beyond it just sleep.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 16384,
		// No payloads are stored elsewhere. Looking through each event for them would
		// take a twentieth of the server's work.
		dynamicconfig.ExternalPayloadsEnabled.Key(): false,
		// It would tell the vendor's server which version runs here.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
		// Lists and counts in the web UI, of one user.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
	}
}
