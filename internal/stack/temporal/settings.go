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
	// clusterID is stored in the database and must not change.
	clusterID = "mosey"
)

func serverConfig(store *config.SQL, l listeners) *config.Config {
	frontend := l[primitives.FrontendService].Addr().String()
	services := make(map[string]config.Service)
	for name, listener := range l {
		services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: portOf(listener), BindOnIP: loopback}}
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
		Services:     services,
		PublicClient: config.PublicClient{HostPort: frontend},
	}
}

func staticHosts(l listeners) map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts)
	for name, listener := range l {
		hosts[name] = static.SingleLocalHost(listener.Addr().String())
	}
	return hosts
}

// shards is fixed for the life of a database file. A shard waits for one write at a time. On two
// cores 1 shard does 86 no-op pages a second, 4 do 158, 8 do 168, and 16 do 171.
const shards = 8

// queueWorkers is the limit of concurrent tasks of a kind in the history service.
const queueWorkers = 64

// settings returns the server's dynamic configuration.
func settings() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// Partitions spread a task queue over hosts. On one host, forwarding tasks and polls
		// between them takes a seventh of the server's work.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// A timer that is due sooner is delayed by this. With the default of a second, a delay of
		// 200 ms took more than a second.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,
		// A worker that has just scheduled an activity gets it in the response.
		dynamicconfig.EnableActivityEagerExecution.Key(): true,
		// A stopping worker's polls end without a task. By default a task may be sent to a worker that
		// has stopped, and is retried after its heartbeat time-out.
		dynamicconfig.EnableCancelWorkerPollsOnShutdown.Key(): true,
		// Each queue worker retains the stack of its last task. All wait for SQLite's one writer.
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():                  queueWorkers,
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():               queueWorkers,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key():             queueWorkers,
		dynamicconfig.ArchivalProcessorSchedulerWorkerCount.Key():               1,
		dynamicconfig.ReplicationProcessorSchedulerWorkerCount.Key():            1,
		dynamicconfig.ReplicationLowPriorityProcessorSchedulerWorkerCount.Key(): 1,
		// Bounds the cached workflows. Most others are sleeping.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 16384,
		// No payloads are external. Searching each event for them takes a twentieth of the work.
		dynamicconfig.ExternalPayloadsEnabled.Key(): false,
		// It would report this version to the vendor's server.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
		// For lists and counts in the web UI of one user.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
	}
}
