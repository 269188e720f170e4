package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/posix"
)

// prepareBucket makes the bucket usable: the bucket exists, belongs to owner, and has no dangling uploads. It runs
// before the server accepts requests.
func prepareBucket(ctx context.Context, d *durable, bucket, owner string) error {
	acl, err := json.Marshal(auth.ACL{Owner: owner})
	if err != nil {
		return fmt.Errorf("encode the owner: %w", err)
	}

	if err := createBucket(ctx, d, bucket, acl); err != nil {
		return err
	}

	// A kill between the two steps of the creation leaves a bucket without an
	// owner, which refuses every request; and the keys may have changed.
	if err := d.PutBucketAcl(ctx, bucket, acl); err != nil {
		return fmt.Errorf("set the owner: %w", err)
	}

	if err := d.PutBucketOwnershipControls(ctx, bucket, types.ObjectOwnershipBucketOwnerEnforced); err != nil {
		return fmt.Errorf("set the ownership: %w", err)
	}

	return dropUploads(bucket)
}

func createBucket(ctx context.Context, d *durable, bucket string, acl []byte) error {
	if _, err := os.Stat(bucket); !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	in := &s3.CreateBucketInput{
		Bucket:                    &bucket,
		ObjectOwnership:           types.ObjectOwnershipBucketOwnerEnforced,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{},
	}

	if err := d.CreateBucket(ctx, in, acl); err != nil {
		return fmt.Errorf("create: %w", err)
	}

	return d.folders.syncName(d.folders.age(), bucket, "")
}

// dropUploads aborts the multipart uploads that a former process left. It removes the folder as a whole, because the
// listing of uploads leaves out uploads that were killed during their completion.
func dropUploads(bucket string) error {
	if err := os.RemoveAll(filepath.Join(bucket, posix.MetaTmpMultipartDir)); err != nil {
		return fmt.Errorf("abort dangling uploads: %w", err)
	}

	return nil
}
