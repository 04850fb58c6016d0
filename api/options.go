package api

import (
	"context"
	"log/slog"
	"time"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/stream"
)

// Threads hands requests to the workflows that are the threads. The errors are
// those of package threadclient: a RefusedError, ErrUnavailable, ErrNoWorker.
type Threads interface {
	Submit(ctx context.Context, user, threadID string, s step.SubmitRun) (step.SubmitResult, error)
	Cancel(ctx context.Context, user, threadID, updateID string, r step.CancelRun) (step.CancelResult, error)
	UpdateState(ctx context.Context, user, threadID string, u step.UpdateState) (step.UpdateStateResult, error)
	Compact(ctx context.Context, user, threadID string, k step.Compact) (step.CompactResult, error)
	Stop(ctx context.Context, threadID string) error
}

// Options are what a [Server] works with. Store, Hub, Threads and Files are
// needed; the rest has defaults.
type Options struct {
	Store   *store.Store
	Hub     *stream.Hub
	Threads Threads
	Files   Files

	// Documents makes texts of documents; nil makes none.
	Documents Documents
	// ConversionWait is how long an upload waits for the texts of its documents;
	// 20 s when zero.
	ConversionWait time.Duration

	// TemporalHealth and WorkerHealth tell whether that part answers; nil means
	// that this process does not look at it. Their context ends after
	// two seconds.
	TemporalHealth func(ctx context.Context) error
	WorkerHealth   func(ctx context.Context) error

	// Settings gives what the configuration in force says; nil is nothing. It is
	// asked at each request.
	Settings func() Settings
	// RequireKeys asks every caller for an API key of the store. Without it all
	// callers are the default user, so only loopback may be served.
	RequireKeys bool
	// AllowedOrigins are web pages of other origins that may call, such as
	// https://app.example.com. They get CORS headers, all others none.
	AllowedOrigins []string
	// AllowedHosts are values of the Host header beside the loopback names, with
	// or without a port.
	AllowedHosts []string

	Version    string
	TemporalUI string // address of the Temporal Web UI, shown in /info

	Logger *slog.Logger     // slog.Default when nil
	Now    func() time.Time // time.Now when nil
	// Heartbeat is the longest silence on a stream; 5 s when zero.
	Heartbeat time.Duration
	// WriteTimeout is how long a client may take to accept 64 KiB of a stream;
	// 15 s when zero.
	WriteTimeout time.Duration
}

// Settings are the part of the configuration that requests go by.
type Settings struct {
	// Models are the names that a run may ask for; empty allows every name.
	Models       []string
	DefaultModel string
	Uploads      UploadLimits
	// ExportFonts are files of fonts for characters that those of this program
	// lack.
	ExportFonts []string
	// ConvertDocuments: texts are made of uploaded documents.
	ConvertDocuments bool
}

// UploadLimits bound one upload request; zero fields take the defaults.
type UploadLimits struct {
	MaxFiles     int   // 10
	MaxFileSize  int64 // bytes, 50 MiB
	MaxTotalSize int64 // bytes, 100 MiB
}

const (
	defaultMaxFiles     = 10
	defaultMaxFileSize  = 50 << 20
	defaultMaxTotalSize = 100 << 20

	defaultHeartbeat    = 5 * time.Second
	defaultWriteTimeout = 15 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = defaultHeartbeat
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	if o.ConversionWait <= 0 {
		o.ConversionWait = conversionWait
	}
	if o.Settings == nil {
		o.Settings = func() Settings { return Settings{} }
	}
	return o
}

func (l UploadLimits) withDefaults() UploadLimits {
	if l.MaxFiles <= 0 {
		l.MaxFiles = defaultMaxFiles
	}
	if l.MaxFileSize <= 0 {
		l.MaxFileSize = defaultMaxFileSize
	}
	if l.MaxTotalSize <= 0 {
		l.MaxTotalSize = defaultMaxTotalSize
	}
	return l
}
