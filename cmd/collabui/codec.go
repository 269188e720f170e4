package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/payloads"
)

// envCodecKey is the environment variable with the key of the codec server.
const envCodecKey = "COLLABUI_CODEC_KEY"

// maxDecoded bounds a request to the codec server, in bytes.
const maxDecoded = 16 << 20

// codecOptions are the flags of codec.
type codecOptions struct {
	child  childOptions
	listen string
	tls    serving.TLS
	origin string
}

func codecCmd(a *app) *cobra.Command {
	var o codecOptions
	c := &cobra.Command{
		Use:   "codec",
		Short: "Decrypt payloads for the Temporal UI",
		Long: `codec serves Temporal's codec API with the keys of ` + payloads.EnvKeys + ` (or its _FILE), so that
the Temporal UI shows what is encrypted to the people who may see it. It decrypts and does not encrypt. Only pages of
one origin are answered: that of the UI in ` + config.EnvUI + `, or --origin.

On the loopback it needs no key. To be reached from other machines it needs one in ` + envCodecKey + ` (or
` + envCodecKey + `_FILE), which a browser asks for as a password, with any name, when a person opens its address; put
a proxy with TLS in front of it. The UI of local services uses the one in ` + config.EnvCodec + `.`,
		Example: "  collabui codec --listen 127.0.0.1:8086 --origin http://127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runCodec(c.Context(), o) },
	}
	c.Flags().StringVar(&o.listen, "listen", "127.0.0.1:8086", "`ADDRESS` to listen on")
	c.Flags().StringVar(&o.origin, "origin", "", "`URL` of the Temporal UI (default: "+config.EnvUI+")")
	tlsFlags(c.Flags(), &o.tls)
	o.child.addFlags(c.Flags())

	return c
}

func (a *app) runCodec(ctx context.Context, o codecOptions) error {
	codec, err := payloads.New()
	if err != nil {
		return err
	}
	if !codec.On() {
		return fault.New(fault.Invalid, "there is nothing to decrypt with: set %s, or %[1]s_FILE", payloads.EnvKeys)
	}
	if o.origin == "" {
		o.origin = a.addresses().UI
	}
	u, err := url.Parse(o.origin)
	if err != nil || u.Host == "" {
		return fault.New(fault.Invalid, "--origin is %q; expected the address of the Temporal UI, such as "+
			"http://127.0.0.1:8080", o.origin)
	}
	key, err := config.Secret(envCodecKey)
	if err != nil {
		return err
	}
	l, err := serving.Listen(o.listen, key, envCodecKey, o.tls)
	if err != nil {
		return err
	}
	address := serving.URL(l, "http")
	err = a.print(map[string]any{"url": address, "key": key != ""}, func(w io.Writer) {
		say(w, "codec server at %s for the Temporal UI at %s", address, o.origin)
	})
	if err != nil {
		return err
	}
	origin := u.Scheme + "://" + u.Host
	keys := config.Live(envCodecKey, key)

	return serving.Serve(o.child.lifetime(ctx), l, decodes(codec, origin, keys), time.Second, origin)
}

// decodes returns the handler of the codec server for pages of an origin. A browser asks beforehand, without a key,
// whether it may send a request.
func decodes(codec converter.PayloadCodec, origin string, keys func() string) http.Handler {
	mux := http.NewServeMux()
	decode := converter.NewPayloadCodecHTTPHandler(codec)
	mux.Handle("POST /decode", locked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxDecoded)
		decode.ServeHTTP(w, r)
	}), keys))
	mux.Handle("GET /{$}", locked(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "The Temporal UI can show encrypted payloads now.\n")
	}), keys))
	mux.HandleFunc("OPTIONS /decode", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", http.MethodPost)
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Origin")
		if r.Header.Get("Origin") == origin {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		mux.ServeHTTP(w, r)
	})
}
