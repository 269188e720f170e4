package workers

import (
	"io"
	"net/http"
	"net/url"

	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/payloads"
)

// EnvCodecKey is the environment variable with the key of the codec server.
const EnvCodecKey = "COLLABUI_CODEC_KEY"

// maxDecoded bounds a request to the codec server, in bytes.
const maxDecoded = 16 << 20

// openCodec returns Temporal's codec API with the keys of payloads. It decrypts and does not encrypt, and only pages of
// the Temporal UI are answered.
func openCodec(options Options) (server, error) {
	codec, err := payloads.New()
	if err != nil {
		return server{}, err
	}
	if !codec.On() {
		return server{}, fault.New(fault.Invalid, "there is nothing to decrypt with: set %s, or %[1]s_FILE",
			payloads.EnvKeys)
	}
	address, err := url.Parse(options.Endpoints.UI)
	if err != nil || address.Host == "" {
		return server{}, fault.New(fault.Invalid, "%s is %q; expected the address of the Temporal UI, such as "+
			"http://127.0.0.1:8080", config.EnvUI, options.Endpoints.UI)
	}
	key, err := config.Secret(EnvCodecKey)
	if err != nil {
		return server{}, err
	}
	origin := address.Scheme + "://" + address.Host

	return server{
		handler: decodes(codec, origin, config.Live(EnvCodecKey, key)),
		key:     key, variable: EnvCodecKey, origins: []string{origin},
	}, nil
}

// decodes returns the handler of the codec server for pages of an origin. A browser finds out first,
// without a key, whether it may send a request.
func decodes(codec converter.PayloadCodec, origin string, keys func() string) http.Handler {
	mux := http.NewServeMux()
	decode := converter.NewPayloadCodecHTTPHandler(codec)
	bounded := func(response http.ResponseWriter, request *http.Request) {
		request.Body = http.MaxBytesReader(response, request.Body, maxDecoded)
		decode.ServeHTTP(response, request)
	}
	mux.Handle("POST /decode", httpd.Locked(http.HandlerFunc(bounded), keys))
	mux.Handle("GET /{$}", httpd.Locked(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(response, "The Temporal UI can show encrypted payloads now.\n")
	}), keys))
	mux.HandleFunc("OPTIONS /decode", func(response http.ResponseWriter, _ *http.Request) {
		header := response.Header()
		header.Set("Access-Control-Allow-Methods", http.MethodPost)
		header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		response.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})

	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("Vary", "Origin")
		if request.Header.Get("Origin") == origin {
			response.Header().Set("Access-Control-Allow-Origin", origin)
			response.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		mux.ServeHTTP(response, request)
	})
}
