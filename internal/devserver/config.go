package devserver

import (
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
)

// servicePorts are the gRPC ports of the server's four services on 127.0.0.1.
type servicePorts struct {
	frontend, history, matching, worker int
}

func (p servicePorts) byService() map[primitives.ServiceName]int {
	return map[primitives.ServiceName]int{
		primitives.FrontendService: p.frontend,
		primitives.HistoryService:  p.history,
		primitives.MatchingService: p.matching,
		primitives.WorkerService:   p.worker,
	}
}

// staticHosts tell each service where the others are. With them there is no membership protocol, hence no port and no
// gossip for it.
func (p servicePorts) staticHosts() map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts)
	for name, port := range p.byService() {
		hosts[name] = static.SingleLocalHost(hostPort(port))
	}
	return hosts
}

// serverConfig is what a configuration file would hold for a server of one node.
func serverConfig(db *database, ports servicePorts) *config.Config {
	const store = "sqlite"
	frontend := hostPort(ports.frontend)

	var c config.Config
	c.Global.Membership.MaxJoinDuration = 30 * time.Second
	c.Global.Membership.BroadcastAddress = loopback
	c.Persistence = config.Persistence{
		DefaultStore:     store,
		VisibilityStore:  store,
		NumHistoryShards: db.meta.HistoryShards,
		DataStores:       map[string]config.DataStore{store: {SQL: db.sql}},
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled:                true,
			InitialFailoverVersion: 1,
			RPCAddress:             frontend,
			ClusterID:              db.meta.ClusterID,
		}},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Services = make(map[string]config.Service)
	for name, port := range ports.byService() {
		c.Services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
	}
	const disabled = "disabled"
	c.Archival.History.State = disabled
	c.Archival.Visibility.State = disabled
	c.NamespaceDefaults.Archival.History.State = disabled
	c.NamespaceDefaults.Archival.Visibility.State = disabled
	c.PublicClient.HostPort = frontend
	return &c
}
