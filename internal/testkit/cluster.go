package testkit

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// ClusterKey is the key of a [Cluster].
const ClusterKey = "pk"

// Cluster is a provisioner of machines. The fields after mu are read and changed
// within [Cluster.Set].
type Cluster struct {
	server *httptest.Server

	mu      sync.Mutex
	Current *Machine
	Creates []ClusterRequest
	Deletes []string
	Status  int
	Reply   string
}

// NewCluster starts a provisioner that gives everyone one machine. It ends with the
// test.
func NewCluster(t testing.TB, first *Machine) *Cluster {
	t.Helper()
	c := &Cluster{Current: first}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case r.Header.Get("X-Api-Key") != ClusterKey:
			w.WriteHeader(http.StatusUnauthorized)
		case c.Status != 0:
			w.WriteHeader(c.Status)
			_, _ = io.WriteString(w, c.Reply)
		case r.Method == http.MethodPost:
			var in ClusterRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			c.Creates = append(c.Creates, in)
			_ = json.NewEncoder(w).Encode(map[string]string{"sandbox_id": in.ID, "sandbox_url": c.Current.server.URL + "/", "status": "Running"})
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"sandboxes":[],"count":0}`)
		default:
			c.Deletes = append(c.Deletes, r.Method+" "+r.URL.Path)
			if len(c.Deletes) > 1 {
				w.WriteHeader(http.StatusNotFound)
			}
		}
	}))
	t.Cleanup(c.server.Close)
	return c
}

// URL is where it answers.
func (c *Cluster) URL() string { return c.server.URL }

// Set reads or changes the fields.
func (c *Cluster) Set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// ClusterRequest is what a provisioner is asked for.
type ClusterRequest struct {
	ID     string `json:"sandbox_id"`
	Thread string `json:"thread_id"`
	User   string `json:"user_id"`
}
