package remote

import (
	"context"
	"fmt"
	"net/http"
)

// Check asks whether somebody is there who takes the keys: the provisioner, or the one
// machine. Machines that somebody else makes for each thread are not asked.
func Check(ctx context.Context, o Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	c := newHTTPClient()
	defer c.CloseIdleConnections()
	switch {
	case o.provisioned():
		p := &provisioner{base: o.ProvisionerURL, key: o.ProvisionerKey, http: c}
		if err := p.call(ctx, http.MethodGet, "/api/sandboxes", nil, nil); err != nil {
			return fmt.Errorf("the provisioner at %s: %w", o.ProvisionerURL, err)
		}
	case o.shared():
		a := &api{base: o.BaseURL, key: o.APIKey, http: c}
		if _, err := a.about(ctx); err != nil {
			return fmt.Errorf("the sandbox at %s: %w", o.BaseURL, err)
		}
	}
	return nil
}
