package temporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/cors"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// startUI serves the web UI on our own listener. The UI's own server would exit the process if its
// port were taken.
func (s *Server) startUI(ctx context.Context, cfg Config) error {
	handler, err := uiHandler(s.address)
	if err != nil {
		return fmt.Errorf("web UI: %w", err)
	}
	listener, err := listen(ctx, cfg.UIPort, UIPortDefault)
	if err != nil {
		return fmt.Errorf("web UI: %w", err)
	}
	s.uiURL = "http://" + address(portOf(listener))
	s.ui = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}
	s.uiEnd = make(chan error, 1)
	go func() {
		err := s.ui.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		} else {
			cfg.Logger.Error("web UI ended", slog.Any("error", err))
		}
		s.uiEnd <- err
	}()
	return nil
}

func uiConfig(temporalAddress string) *config.Config {
	return &config.Config{
		TemporalGRPCAddress: temporalAddress,
		Host:                loopback,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		// It would request news from the vendor's server.
		DisableNewsFetch: true,
		// The cookie only travels over the loopback address.
		CORS:     config.CORS{CookieInsecure: true},
		HideLogs: true,
	}
}

func uiHandler(temporalAddress string) (http.Handler, error) {
	provider, err := config.NewConfigProviderWithRefresh(uiConfig(temporalAddress))
	if err != nil {
		return nil, err
	}
	assets, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	local, err := fs.Sub(assets, "local")
	if err != nil {
		return nil, err
	}
	const secureCookie = false
	e := echo.New()
	e.Use(
		middleware.Recover(),
		middleware.Gzip(),
		cors.CORSMiddleware(cors.CORSConfig{
			AllowHeaders: []string{
				echo.HeaderOrigin, echo.HeaderContentType, echo.HeaderAccept,
				echo.HeaderXCSRFToken, "Caller-Type",
			},
			AllowCredentials: true,
			ConfigProvider:   provider,
		}),
		middleware.Secure(),
		csrf.EnsureTokenCookie(secureCookie),
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secureCookie)),
	)
	route.SetHealthRoute(e)
	route.SetAuthRoutes(e, provider)
	route.SetRenderRoute(e, "")
	return e, errors.Join(route.SetAPIRoutes(e, provider, nil), route.SetUIRoutes(e, "", local))
}
