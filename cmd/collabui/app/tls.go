package app

import (
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/internal/httpd"
)

// AddTLSFlags adds the flags of a server that may use TLS.
func AddTLSFlags(flags *pflag.FlagSet, tls *httpd.TLS) {
	flags.StringVar(&tls.Cert, "cert", "", "speak TLS with the certificate in `FILE`; renewed files need no restart")
	flags.StringVar(&tls.Key, "key", "", "the `FILE` with the private key of --cert")
}
