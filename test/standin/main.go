// Command standin is run by integration tests in place of llamafactory-cli (train FILE) and of a server of language
// models (serve ADDR MODEL).
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/collabui/collabui/test/kit/standin"
)

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "train":
		os.Exit(standin.Train(os.Args[2]))
	case len(os.Args) == 4 && os.Args[1] == "serve":
		fmt.Println(http.ListenAndServe(os.Args[2], standin.Engine(os.Args[3])))
		os.Exit(1)
	}

	fmt.Fprintln(os.Stderr, "usage: standin train FILE | standin serve ADDR MODEL")
	os.Exit(2)
}
