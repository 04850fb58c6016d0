package devserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// webUI serves Temporal's Web UI. It is put together from the parts of the UI server and not by its own NewServer,
// whose Start ends the process if the port is taken, whose connection to the frontend is never closed, and which
// answers to any Host.
type webUI struct {
	server *http.Server
	conn   *grpc.ClientConn
	served chan error
}

// startUI serves the UI of a frontend on l. It answers when startUI returns, since l is open already. After an error l
// is still the caller's, else stop closes it.
func startUI(l net.Listener, frontend string, o Options) (*webUI, error) {
	conn, err := dialFrontend(frontend)
	if err != nil {
		return nil, err
	}
	handler, err := uiHandler(conn, frontend, portOf(l), o)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	u := &webUI{
		server: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 10 * time.Second,
			ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		},
		conn:   conn,
		served: make(chan error, 1),
	}
	go func() { u.served <- u.server.Serve(l) }()
	return u, nil
}

// stop ends the UI. Requests that are under way, such as a long poll, get until ctx is done.
func (u *webUI) stop(ctx context.Context) error {
	err := u.server.Shutdown(ctx)
	if err != nil {
		err = u.server.Close()
	}
	if served := <-u.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err = errors.Join(err, u.conn.Close()); err != nil {
		return fmt.Errorf("stopping the Temporal Web UI: %w", err)
	}
	return nil
}

// uiHandler is the UI's page and the HTTP form of the frontend that the page calls.
func uiHandler(conn *grpc.ClientConn, frontend string, port int, o Options) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(&uiconfig.Config{
		TemporalGRPCAddress: frontend,
		Host:                loopback,
		Port:                port,
		PublicPath:          o.UIPublicPath,
		EnableUI:            true,
		DefaultNamespace:    o.Namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true}, // http on loopback
	})
	if err != nil {
		return nil, fmt.Errorf("configuring the Temporal Web UI: %w", err)
	}
	const cookieSecure = false
	e := echo.New()
	e.Pre(requireLocalHost, route.PublicPath(o.UIPublicPath))
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure(), csrf.EnsureTokenCookie(cookieSecure),
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, cookieSecure)))
	route.SetHealthRoute(e)
	addUIAPI(e.Group("/api/v1"), provider, conn)
	if err := addUIPages(e, o.UIPublicPath); err != nil {
		return nil, err
	}
	return e, nil
}

func addUIAPI(g *echo.Group, provider *uiconfig.ConfigProviderWithRefresh, conn *grpc.ClientConn) {
	g.GET("/settings", api.GetSettings(provider))
	g.GET(api.WorkflowRawHistoryUrl, api.WorkflowRawHistoryHandler(workflowservice.NewWorkflowServiceClient(conn)))
	forward := []api.Middleware{headers.WithForwardHeaders([]string{"Caller-Type"})}
	g.Any("/*", api.TemporalAPIHandler(provider, forward, conn))
}

func addUIPages(e *echo.Echo, publicPath string) error {
	assets, err := ui.Assets()
	if err == nil {
		// The other build is the vendor's cloud.
		assets, err = fs.Sub(assets, "local")
	}
	if err == nil {
		err = route.SetUIRoutes(e, publicPath, assets)
	}
	if err != nil {
		return fmt.Errorf("loading the pages of the Temporal Web UI: %w", err)
	}
	route.SetRenderRoute(e, publicPath)
	return nil
}

// requireLocalHost refuses requests that reach the loopback address under a foreign name: a web page that has its own
// name resolve to 127.0.0.1 could drive the UI's API otherwise. A reverse proxy sends the UI's own address as Host.
func requireLocalHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		host := c.Request().Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return echo.NewHTTPError(http.StatusForbidden,
				fmt.Sprintf("the Temporal Web UI is not served as %q: open it as localhost or 127.0.0.1", host))
		}
		return next(c)
	}
}
