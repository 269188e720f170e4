package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api/utils"
)

const (
	accessKeyEnv = "COLLABUI_S3_ACCESS_KEY"
	secretKeyEnv = "COLLABUI_S3_SECRET_KEY"

	// healthPath cannot hide a bucket: no bucket name has an underscore.
	healthPath = "/_health"

	// maxCopySize is S3's own limit of 5 GiB; the library's zero refuses every copy.
	maxCopySize = 5 << 30
	// maxParts is S3's own limit for one upload.
	maxParts = 10000
	// maxRequests is the number of concurrent requests; further connections wait for their turn.
	maxRequests    = 256
	maxConnections = 1024
)

// s3Service serves the folder DIR/s3: buckets are folders, objects files.
type s3Service struct {
	addr   string
	root   string
	bucket string
	access string
	secret string
	users  string

	cancel context.CancelFunc
	ended  chan struct{}
}

func (s *s3Service) flags(fs *flag.FlagSet, o *options) {
	o.dirFlag(fs)
	fs.StringVar(&s.bucket, "bucket", "collabui", "create bucket `NAME` if it is missing")
	fs.StringVar(&s.users, "accounts", "", "have further accounts, those of users.json in `DIR`; empty: none")
}

func (s *s3Service) prepare(o options) ([]string, error) {
	s.addr = o.addr
	s.root = filepath.Join(o.dir, "s3")
	s.access = os.Getenv(accessKeyEnv)
	s.secret = os.Getenv(secretKeyEnv)
	if s.access == "" || s.secret == "" {
		return nil, usageProblem("no S3 keys given", "set "+accessKeyEnv+" and "+secretKeyEnv)
	}

	if !utils.IsValidBucketName(s.bucket) {
		return nil, usageProblem(fmt.Sprintf("%q is not a bucket name", s.bucket),
			"use 3 to 63 lower-case letters, digits and hyphens")
	}

	return []string{o.addr}, o.needDir()
}

func (s *s3Service) start(ctx context.Context, fail func(error)) error {
	backend, err := s.open()
	if err != nil {
		return err
	}

	if err := prepareBucket(ctx, backend, s.bucket, s.access); err != nil {
		return dataProblem("cannot prepare bucket "+s.bucket, err)
	}

	serving, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		if err := embedgw.RunVersityGW(serving, backend, s.gateway()); err != nil {
			fail(fmt.Errorf("serve S3: %w", err))
		}
	}()

	return until(ctx, "the S3 server answers", func(ctx context.Context) error {
		return getOK(ctx, "http://"+s.addr+healthPath)
	})
}

// open returns the folder as a backend. It changes the working directory, which
// is why the S3 server is a process of its own.
func (s *s3Service) open() (*durable, error) {
	if err := os.MkdirAll(s.root, 0o755); err != nil {
		return nil, dataProblem("cannot create the object folder", err)
	}

	attributes := meta.XattrMeta{}
	if err := attributes.Test(s.root); err != nil {
		return nil, &problem{
			code:  exitData,
			what:  "cannot store object metadata",
			todo:  "choose a folder on a file system with user extended attributes",
			cause: err,
		}
	}

	p, err := posix.New(s.root, attributes, posix.PosixOpts{CopyObjectThreshold: maxCopySize})
	if err != nil {
		return nil, dataProblem("cannot open the object folder", err)
	}

	return &durable{Posix: p, folders: folders{sync: syncPath}}, nil
}

func (s *s3Service) gateway() *embedgw.Config {
	root := auth.Account{Access: s.access, Secret: s.secret, Role: auth.RoleAdmin}
	config := &embedgw.Config{
		RootUserAccess:    s.access,
		RootUserSecret:    s.secret,
		Ports:             []string{s.addr},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: maxParts,
		KeepAlive:         true,
		Quiet:             true,
		HealthPath:        healthPath,
		IAMDir:            s.users,
	}
	if s.users == "" {
		config.IAMService = auth.NewIAMServiceSingle(root)
	}

	return config
}

func (s *s3Service) stop() {
	if s.cancel != nil {
		s.cancel()
		<-s.ended
	}
}
