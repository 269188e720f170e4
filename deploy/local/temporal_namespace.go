package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retention is how long closed workflows stay visible; a run takes days.
const retention = 90 * 24 * time.Hour

// searchAttributes are the attributes by which the workflows of a run can be found.
var searchAttributes = map[string]enumspb.IndexedValueType{
	"CollabRun":         enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"CollabStage":       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"CollabEpoch":       enumspb.INDEXED_VALUE_TYPE_INT,
	"CollabEnvironment": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"CollabSuccessRate": enumspb.INDEXED_VALUE_TYPE_DOUBLE,
	"CollabSystem":      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
}

// createNamespace writes the namespace with its search attributes as one row, before the server starts. It does not
// change an existing namespace.
func createNamespace(file, name string) error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, searchAttributes)
	if err != nil {
		return err
	}

	ns.Detail.Config.Retention = durationpb.New(retention)

	return sqliteschema.CreateNamespaces(sqliteConfig(file), ns)
}

// waitNamespace waits until clients can use the namespace: it can be described, and its workflows can be listed by all
// search attributes.
func waitNamespace(ctx context.Context, addr, name string) error {
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	temporal, err := client.NewLazyClient(client.Options{
		HostPort:  addr,
		Namespace: name,
		Logger:    sdklog.NewStructuredLogger(quiet),
	})

	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	defer temporal.Close()
	return until(ctx, "namespace "+name+" is usable", func(ctx context.Context) error {
		return checkNamespace(ctx, temporal, name)
	})
}

func checkNamespace(ctx context.Context, temporal client.Client, name string) error {
	describe := &workflowservice.DescribeNamespaceRequest{Namespace: name}
	if _, err := temporal.WorkflowService().DescribeNamespace(ctx, describe); err != nil {
		return fmt.Errorf("describe: %w", err)
	}

	for attribute := range searchAttributes {
		if _, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: name,
			PageSize:  1,
			Query:     attribute + " IS NOT NULL",
		}); err != nil {
			return fmt.Errorf("list by %s: %w", attribute, err)
		}
	}

	return nil
}
