package remote

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// Options configure [New].
type Options struct {
	// BaseURL is where the machine answers. With "{sandbox_id}" in it every thread has
	// one of its own; without, all threads share one machine, in directories of their
	// own that are no wall.
	BaseURL string
	// APIKey is sent to the machines; may be empty.
	APIKey string
	// ProvisionerURL makes machines when BaseURL is empty; ProvisionerKey is its key.
	ProvisionerURL, ProvisionerKey string
	// Mounted: the machines show the directories of this host at /mnt/user-data, so
	// nothing is copied.
	Mounted bool
	// Idle is how long a provisioned machine is kept that nobody uses, 0 for ever;
	// Replicas is how many there should be, 0 for any number.
	Idle     time.Duration
	Replicas int
	// Ready is how long a machine may take to come up (60 s), Poll the pause between
	// two questions whether it has (1 s). One that was not made for the occasion and
	// takes no connections is not coming up: it has Refused to come back (2 s).
	Ready, Poll, Refused time.Duration
	// Logger gets warnings; nil means slog.Default().
	Logger *slog.Logger
}

// Bounds on what a machine may take.
const (
	defaultReady   = time.Minute
	defaultPoll    = time.Second
	defaultRefused = 2 * time.Second
)

// idPlaceholder stands for the machine of a thread in an address.
const idPlaceholder = "{sandbox_id}"

func (o *Options) complete() error {
	o.Ready, o.Poll, o.Refused = cmp.Or(o.Ready, defaultReady), cmp.Or(o.Poll, defaultPoll), cmp.Or(o.Refused, defaultRefused)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.BaseURL, o.ProvisionerURL = strings.TrimRight(o.BaseURL, "/"), strings.TrimRight(o.ProvisionerURL, "/")
	switch {
	case o.BaseURL != "":
		return checkURL("base_url", strings.ReplaceAll(o.BaseURL, idPlaceholder, "0"))
	case o.ProvisionerURL != "":
		return checkURL("provisioner_url", o.ProvisionerURL)
	}
	return errors.New("remote sandbox: neither the address of a machine nor that of a provisioner is given")
}

func checkURL(what, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("remote sandbox: %s: want an address such as http://host:8080", what)
	}
	return nil
}

// provisioned reports whether machines are made by a provisioner.
func (o *Options) provisioned() bool { return o.BaseURL == "" }

// shared reports whether all threads use one machine.
func (o *Options) shared() bool {
	return o.BaseURL != "" && !strings.Contains(o.BaseURL, idPlaceholder)
}
