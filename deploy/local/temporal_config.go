package main

import (
	"fmt"
	"maps"
	"net"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

const (
	// The server stores these three with the data; changing one makes existing
	// files unreadable or gives them another identity.
	clusterName   = "active"
	clusterID     = "c011ab01-0000-4000-8000-000000000001"
	historyShards = 1

	loopback = "127.0.0.1"
	// maxPollRPS is how often per second a history shard may look for new tasks. With the default of 20, a step of a
	// workflow takes 46 ms, because there is one shard.
	maxPollRPS = 2000
	// ackInterval is how often a shard forgets finished tasks. With the default of 30 s it keeps thousands, and copies
	// them for every new one: see QueueShrinkPredicateMaxPendingKeys below.
	ackInterval = 5 * time.Second
	// Caches of the default sizes grow for hours, and make the collector slower and slower. These sizes hold everything
	// that is open: 50 shards of 16 episodes.
	cachedWorkflows = 600
	eventCache      = 4 << 20
)

// sqliteAttributes are the pragmas of the one connection. More than one
// connection only brings "database is locked"; synchronous=FULL is what keeps
// the last commits over a power loss.
var sqliteAttributes = map[string]string{
	"mode":         "rwc",
	"journal_mode": "WAL",
	"synchronous":  "FULL",
	"busy_timeout": "10000",  // ms; a person may have the file open in a reader
	"cache_size":   "-32768", // KB; with the default of 2 MB, large epochs read the same pages again and again
}

func sqliteConfig(file string) *config.SQL {
	return &config.SQL{
		PluginName:        sqliteplugin.PluginName,
		DatabaseName:      file,
		ConnectAttributes: maps.Clone(sqliteAttributes),
		MaxConns:          1,
		MaxIdleConns:      1,
	}
}

// serverConfig puts the frontend on addr and the other services on free ports
// of the loopback interface.
func serverConfig(addr *net.TCPAddr, file string) (*config.Config, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}

	off := config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
		History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
		Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
	}}
	return &config.Config{
		Global: config.Global{Membership: config.Membership{
			MaxJoinDuration:  30 * time.Second,
			BroadcastAddress: loopback,
		}},
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: historyShards,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: sqliteConfig(file)}},
		},
		ClusterMetadata:     clusterConfig(addr.String()),
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			string(primitives.FrontendService): listenOn(addr.IP.String(), addr.Port),
			string(primitives.HistoryService):  listenOn(loopback, ports[0]),
			string(primitives.MatchingService): listenOn(loopback, ports[1]),
			string(primitives.WorkerService):   listenOn(loopback, ports[2]),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		PublicClient:      config.PublicClient{HostPort: addr.String()},
		NamespaceDefaults: off,
	}, nil
}

func listenOn(ip string, port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: ip}}
}

func clusterConfig(addr string) *cluster.Config {
	return &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled:                true,
			InitialFailoverVersion: 1,
			RPCAddress:             addr,
			ClusterID:              clusterID,
		}},
	}
}

// staticHosts replaces the membership ring: a ring remembers the members of a
// killed process and waits for them.
func staticHosts(conf *config.Config) map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts, len(conf.Services))
	for name, service := range conf.Services {
		addr := net.JoinHostPort(service.RPC.BindOnIP, fmt.Sprint(service.RPC.GRPCPort))
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(addr)
	}

	return hosts
}

func dynamicConfig() dynamicconfig.Client {
	return dynamicconfig.StaticClient{
		dynamicconfig.TransferProcessorMaxPollRPS.Key():          maxPollRPS,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():             maxPollRPS,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key():        maxPollRPS,
		dynamicconfig.QueueShrinkPredicateMaxPendingKeys.Key():   0,
		dynamicconfig.TransferProcessorUpdateAckInterval.Key():   ackInterval,
		dynamicconfig.TimerProcessorUpdateAckInterval.Key():      ackInterval,
		dynamicconfig.VisibilityProcessorUpdateAckInterval.Key(): ackInterval,
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():         cachedWorkflows,
		dynamicconfig.EventsHostLevelCacheMaxSizeBytes.Key():     eventCache,
		dynamicconfig.EventsCacheMaxSizeBytes.Key():              eventCache,
		dynamicconfig.XDCCacheMaxSizeBytes.Key():                 1 << 20, // for clusters of several places
		// Runs share the workers of a queue: every activity has the name of its run as its fairness key. Queues are
		// fair, and keep priorities, within a partition. Partitions that older servers wrote are still read.
		dynamicconfig.MatchingEnableFairness.Key():              true,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// A local server reports to no one that it runs.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}
