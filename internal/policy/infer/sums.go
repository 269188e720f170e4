package infer

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
)

// SumsFile is the file of an export that contains the hashes of all other files, in the format of sha256sum.
const SumsFile = "SHA256SUMS"

// Sums writes SumsFile for all files below a folder, ordered by path. It returns the number of files, including
// SumsFile.
func Sums(dir string) (int, error) {
	file, err := os.Create(filepath.Join(dir, SumsFile))
	if err != nil {
		return 0, fault.New(fault.Invalid, "write %s: %w", SumsFile, err)
	}

	n := 1
	writer := bufio.NewWriter(file)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path) // path is below dir
		if err != nil || entry.IsDir() || name == SumsFile {
			return err
		}

		sum, err := hashFile(path)
		n++
		_, _ = fmt.Fprintf(writer, "%s  %s\n", sum, filepath.ToSlash(name)) // writer.Flush returns its error

		return err
	})

	if err := errors.Join(err, writer.Flush(), file.Close()); err != nil {
		return 0, fault.New(fault.Invalid, "hash the export: %w", err)
	}

	return n, nil
}

// hashFile returns the SHA-256 of a file in hex.
func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}

	digest := sha256.New()
	_, err = io.Copy(digest, file)

	return hex.EncodeToString(digest.Sum(nil)), errors.Join(err, file.Close())
}
