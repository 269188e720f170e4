package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"

	"go.uber.org/zap/zapcore"
)

// setAside is the advice about a damaged file.
const setAside = "stop with `collabui down`, move the file away with its -wal and -shm files, and start again; " +
	"runs continue from the object store"

func damagedFile(file string, cause error) error {
	return &problem{code: exitData, what: file + " is damaged", todo: setAside, cause: cause}
}

// checkedBeforeStart is the size in bytes up to which a file is checked before the server starts, which takes two
// seconds. A larger file is checked while the server runs, because a start is also the recovery after a kill.
var checkedBeforeStart int64 = 1 << 30

func large(file string) bool {
	st, err := os.Stat(file)

	return err == nil && st.Size() > checkedBeforeStart
}

// checkLater checks a large file while the server runs.
func checkLater(ctx context.Context, file string, fail func(error)) {
	if !large(file) {
		return
	}
	db, err := sql.Open("sqlite", dataSource(file))
	if err != nil {
		return // the server has it open, and reports more
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err == nil {
		defer func() { _ = tx.Rollback() }()
		err = checkIntegrity(ctx, tx, file)
	}
	var damaged *problem
	switch {
	case errors.As(err, &damaged) && damaged.todo == setAside:
		fail(err)
	case err != nil && isDamage(err):
		fail(damagedFile(file, err))
	}
}

// checkIntegrity checks the structure of the whole file, at some 500 MB/s.
func checkIntegrity(ctx context.Context, tx *sql.Tx, file string) error {
	var found string
	if err := tx.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		if isDamage(err) {
			return damagedFile(file, err)
		}

		return dataProblem("cannot read "+file, err)
	}

	if found != "ok" {
		return damagedFile(file, errors.New(found))
	}

	return nil
}

// isDamage reports whether an error of SQLite reports a damaged file. The server passes on only the error's text.
func isDamage(err error) bool {
	text := err.Error()

	return strings.Contains(text, "database disk image is malformed") ||
		strings.Contains(text, "file is not a database")
}

// checkpoint moves the write-ahead log into the file, so that the file alone is
// the whole database.
func checkpoint(file string) error {
	db, err := sql.Open("sqlite", dataSource(file))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)

	return errors.Join(err, db.Close())
}

// damageAlarm is a log that calls damaged when an entry has an error about a
// damaged file.
type damageAlarm struct {
	zapcore.Core
	damaged func(error)
}

func (a damageAlarm) With(fields []zapcore.Field) zapcore.Core {
	return damageAlarm{a.Core.With(fields), a.damaged}
}

func (a damageAlarm) Check(entry zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if a.Enabled(entry.Level) {
		return ce.AddCore(entry, a)
	}

	return ce
}

func (a damageAlarm) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && isDamage(err) {
			a.damaged(err)
		}
	}

	return a.Core.Write(entry, fields)
}
