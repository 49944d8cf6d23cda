package ticketing_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
)

// TestDiskFull checks that a disk that fills up in the middle of a rush neither loses nor doubles an order. Calls
// meanwhile fail with an error that asks the client to retry, and the services recover by themselves once there is room
// again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	disk := t.TempDir()
	is.NoErr(os.Chmod(filepath.Dir(disk), 0o755))
	if err := syscall.Mount("ticketing", disk, "tmpfs", 0, "size=128m,mode=1777"); err != nil {
		t.Skipf("a small disk cannot be mounted (the test must run as root): %v", err)
	}
	t.Cleanup(func() { is.NoErr(syscall.Unmount(disk, 0)) })
	server := pgtest.StartIn(t, disk, "min_wal_size=32MB", "max_wal_size=32MB")
	dsn := server.DSN("postgres")
	shop := newShop(t, postgres(t, dsn, nil))
	r := newRush(t, shop)
	alone := service(t, shop, postgres(t, dsn, nil), ticketing.Grouping{Off: true})
	r.buy("grouped", 12, buyFuncOf(shop.Service, shop.Caller))
	r.buy("alone", 2, buyFuncOf(alone, shop.Caller))
	r.buy("web", 4, httpBuyFunc(t, shop.Service, shop.APIKey))
	r.begun("grouped", "alone", "web")

	// There is room in the log, so the server itself keeps running: the checkpoint is written to a new segment, and leaves
	// the one before for later.
	_, err := beside(t, dsn).ExecContext(t.Context(), "SELECT pg_switch_wal(); CHECKPOINT")
	is.NoErr(err)
	ballast := filepath.Join(disk, "ballast")
	is.True(errors.Is(fill(ballast), syscall.ENOSPC))
	r.refused()
	r.refused()
	is.NoErr(os.Remove(ballast))
	r.more(20)
	r.settled(buyFuncOf(alone, shop.Caller))
}

// fill writes a file until the disk is full.
func fill(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for {
		if _, err := io.CopyN(file, zeros{}, 1<<20); err != nil {
			return err
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
