package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

const (
	createStamp = `CREATE TABLE collabui_schema (version TEXT NOT NULL)`
	writeStamp  = `INSERT INTO collabui_schema (version) VALUES (?)`
	readStamp   = `SELECT version FROM collabui_schema`
	countTables = `SELECT count(*) FROM sqlite_master`
)

// schemaVersion is the version that this server reads and writes. The server
// itself does not check a SQLite file.
func schemaVersion() string {
	return "execution " + sqliteschema.Version + ", visibility " + sqliteschema.VisibilityVersion
}

// ensureSchema creates the schema in an empty file, in one transaction with its
// version, so that a kill leaves nothing or everything. It refuses a file of
// another version, because Temporal cannot upgrade a SQLite file.
func ensureSchema(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", dataSource(file))
	if err != nil {
		return dataProblem("cannot open "+file, err)
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return dataProblem("cannot open "+file, err)
	}
	defer func() { _ = tx.Rollback() }() // no effect after the commit

	if !large(file) {
		if err := checkIntegrity(ctx, tx, file); err != nil {
			return err
		}
	}

	var tables int
	if err := tx.QueryRowContext(ctx, countTables).Scan(&tables); err != nil {
		return dataProblem("cannot read "+file, err)
	}

	if tables > 0 {
		return checkStamp(ctx, tx, file)
	}

	if err := createSchema(ctx, tx); err != nil {
		return dataProblem("cannot create the schema in "+file, err)
	}

	return nil
}

func checkStamp(ctx context.Context, tx *sql.Tx, file string) error {
	var version string
	err := tx.QueryRowContext(ctx, readStamp).Scan(&version)
	if err == nil && version == schemaVersion() {
		return nil
	}

	if err != nil {
		version = "unknown"
	}

	what := fmt.Sprintf("%s has schema %q, this server needs %q", file, version, schemaVersion())

	return &problem{exitData, what, setAside, err}
}

func createSchema(ctx context.Context, tx *sql.Tx) error {
	if err := sqliteschema.SetupSchemaOnDB(schemaTx{ctx: ctx, tx: tx}); err != nil {
		return err
	}

	if _, err := tx.ExecContext(ctx, createStamp); err != nil {
		return fmt.Errorf("create the version table: %w", err)
	}

	if _, err := tx.ExecContext(ctx, writeStamp, schemaVersion()); err != nil {
		return fmt.Errorf("write the version: %w", err)
	}

	return tx.Commit()
}

// schemaTx lets the server's schema setup run inside a transaction. The setup
// calls Exec and nothing else of the interface.
type schemaTx struct {
	sqlplugin.AdminDB
	ctx context.Context
	tx  *sql.Tx
}

func (s schemaTx) Exec(stmt string, args ...any) error {
	_, err := s.tx.ExecContext(s.ctx, stmt, args...)
	return err
}

// dataSource returns the data source name with sqliteAttributes, in the form of the SQLite driver.
func dataSource(file string) string {
	values := url.Values{}
	for name, value := range sqliteAttributes {
		if name == "mode" {
			values.Set(name, value)
			continue
		}
		values.Add("_pragma", name+"="+value)
	}

	return "file:" + file + "?" + values.Encode()
}
