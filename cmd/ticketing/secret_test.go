package main_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ticketingtest"
)

// On first use a secret key is created beside the database, readable by its owner only.
func TestSecretKeyIsMadeNextToTheDatabase(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	sh.object("company", "create", "--name", "Lagos Live")
	path := filepath.Join(sh.dir, "t.db.key")
	info, err := os.Stat(path)
	is.NoErr(err)
	is.Equal(info.Mode().Perm(), os.FileMode(0o600))
	text, err := os.ReadFile(path)
	is.NoErr(err)
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	is.NoErr(err)
	is.Equal(len(key), 32)

	sh.array("company", "list")
	after, err := os.ReadFile(path)
	is.NoErr(err)
	is.Equal(after, text)
	files, err := filepath.Glob(path + ".*")
	is.NoErr(err)
	is.Equal(len(files), 0) // No temporary file is left.
}

// Concurrent commands on a new database use the same key.
func TestSecretKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShellWithoutFile(t)
	const commands = 4
	outcomes := make([]outcome, commands)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() { outcomes[i] = sh.run("company", "create", "--name", "Lagos Live") })
	}
	all.Wait()
	for _, did := range outcomes {
		is.Equal(did.stderr, "")
		is.Equal(did.status, 0)
	}
	is.Equal(len(sh.array("company", "list")), commands)
}

// A wrong secret key is refused at the start, by commands and by the server.
func TestWrongSecretKeyIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	sh.object("company", "create", "--name", "Lagos Live")
	other := strings.Repeat("ab", 32)
	for _, args := range [][]string{
		{"company", "list", "--secret-key", other},
		{"migrate", "--secret-key", other},
		{"serve", "--addr", "127.0.0.1:0", "--secret-key", other},
	} {
		did := sh.run(args...)
		is.Equal(did.status, 1)
		is.True(strings.Contains(did.stderr, "secret"))
		code, _ := sh.refusal(args...)
		is.Equal(code, "SECRET_KEY")
		is.True(!strings.Contains(did.stderr, "listening"))
		is.True(!strings.Contains(did.stderr, other))
	}
}

// Two equal secret keys are refused.
func TestEqualSecretKeys(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	key := strings.Repeat("ab", 32)
	code, message := newShellWithoutFile(t).refusal("migrate", "--secret-key", key+","+key)
	is.Equal(code, "SECRET_KEY")
	is.True(!strings.Contains(message, key))
}

// To rotate a secret key, put the new one first and keep the old one after it.
func TestSecretKeysRotate(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	sh.object("company", "create", "--name", "Lagos Live")
	kept, err := os.ReadFile(filepath.Join(sh.dir, "t.db.key"))
	is.NoErr(err)
	older := strings.TrimSpace(string(kept))
	bytes, err := hex.DecodeString(strings.Repeat("fb", 40))
	is.NoErr(err)
	for _, newer := range []string{
		hex.EncodeToString(bytes), strings.ToUpper(hex.EncodeToString(bytes)),
		base64.StdEncoding.EncodeToString(bytes), base64.RawURLEncoding.EncodeToString(bytes),
	} {
		is.Equal(len(sh.with("TICKETING_SECRET_KEY", newer+","+older).array("company", "list")), 1)
	}
}

// A master secret that only a bank account needs can be removed after the account is encrypted under the new one.
func TestSecretKeyOfBankAccountsIsGivenUp(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	company := sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
	sh.bank(company)
	kept, err := os.ReadFile(filepath.Join(sh.dir, "t.db.key"))
	is.NoErr(err)
	older, newer := strings.TrimSpace(string(kept)), strings.Repeat("ab", 32)

	alone, both := sh.with("TICKETING_SECRET_KEY", newer), sh.with("TICKETING_SECRET_KEY", newer+","+older)
	is.Equal(both.object("bank-account", "show", company)["bankAccountLast4"], "2653")
	code, message := alone.refusal("serve", "--addr", "127.0.0.1:0")
	is.Equal(code, "SECRET_KEY")
	is.True(strings.Contains(message, "API keys, bank accounts or webhook secrets in use were made under another one"))
	code, _ = alone.refusal("bank-account", "reseal")
	is.Equal(code, "SECRET_KEY")

	is.Equal(both.object("bank-account", "reseal"), map[string]any{"resealed": 1.0, "left": 0.0})
	is.Equal(both.run("bank-account", "reseal").stdout, "Resealed  0\nLeft      0\n")
	alone.serve()
	is.Equal(alone.object("bank-account", "show", company)["bankAccountLast4"], "2653")
	code, _ = sh.refusal("company", "list")
	is.Equal(code, "SECRET_KEY") // The old one alone.
}

// A master secret that only a signing secret needs can be removed after that is encrypted under the new one. The
// signing secret can still be used and rotated.
func TestSecretKeyOfWebhooksIsGivenUp(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	company := sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
	receiver := ticketingtest.NewWebhooks(t)
	endpoint := sh.hooked(company, receiver, "balance.low")["id"].(string)
	kept, err := os.ReadFile(filepath.Join(sh.dir, "t.db.key"))
	is.NoErr(err)
	older, newer := strings.TrimSpace(string(kept)), strings.Repeat("ab", 32)

	alone, both := sh.with("TICKETING_SECRET_KEY", newer), sh.with("TICKETING_SECRET_KEY", newer+","+older)
	is.Equal(both.object("webhook", "show", endpoint)["status"], "ENABLED")
	code, message := alone.refusal("serve", "--addr", "127.0.0.1:0")
	is.Equal(code, "SECRET_KEY")
	is.True(strings.Contains(message, "API keys, bank accounts or webhook secrets in use were made under another one"))
	code, _ = alone.refusal("webhook", "reseal")
	is.Equal(code, "SECRET_KEY")

	is.Equal(both.object("webhook", "reseal"), map[string]any{"resealed": 1.0, "left": 0.0})
	is.Equal(both.run("webhook", "reseal").stdout, "Resealed  0\nLeft      0\n")
	alone.sends(receiver)
	event := alone.object("webhook", "trigger", company, "balance.low")
	got, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	is.NoErr(got[0].Err) // Signed with the secret that was issued under the old one.
	is.Equal(got[0].EventID, event["id"])
	receiver.SetSecrets(alone.object("webhook", "rotate", endpoint)["secret"].(string))
	alone.object("webhook", "activate", endpoint)
	alone.object("webhook", "trigger", company, "balance.low")
	got, err = receiver.Wait(soon(t), 2)
	is.NoErr(err)
	is.NoErr(got[1].Err)
	code, _ = sh.refusal("company", "list")
	is.Equal(code, "SECRET_KEY") // The old one alone.
}

// A key that is missing, damaged or readable by others is neither replaced nor used.
func TestSecretKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	for _, test := range []struct {
		name  string
		spoil func(path string) error
		want  string
	}{
		{"missing", os.Remove, "is not in"},
		{"a folder", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "is a folder"},
		{"readable by others", func(path string) error { return os.Chmod(path, 0o640) }, "chmod 600"},
		{"cut short", func(path string) error { return os.Truncate(path, 20) }, "damaged"},
		{"empty", func(path string) error { return os.Truncate(path, 0) }, "damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShellWithoutFile(t)
			sh.object("company", "create", "--name", "Lagos Live")
			path := filepath.Join(sh.dir, "t.db.key")
			key, err := os.ReadFile(path)
			is.NoErr(err)
			is.NoErr(test.spoil(path))
			did := sh.run("company", "list")
			is.Equal(did.status, 1)
			is.True(strings.Contains(did.stderr, test.want))
			is.True(strings.Contains(did.stderr, path))
			code, _ := sh.refusal("company", "list")
			is.Equal(code, "SECRET_KEY")

			given := sh.with("TICKETING_SECRET_KEY", string(key))
			is.Equal(len(given.array("company", "list")), 1) // The same key passed in the environment is accepted.
		})
	}
}

// The settings that hold secrets can be given as files, and not twice.
func TestSecretsInFiles(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	file := func(name, text string) string {
		path := filepath.Join(sh.dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	key := file("key", strings.Repeat("ab", 32)+"\n")
	place := file("place", "sqlite:"+filepath.Join(sh.dir, "other.db")+"\r\n")
	in := sh.with("TICKETING_DATABASE", "", "TICKETING_DATABASE_FILE", place, "TICKETING_SECRET_KEY_FILE", key)
	in.object("company", "create", "--name", "Lagos Live")
	_, err := os.Stat(filepath.Join(sh.dir, "other.db"))
	is.NoErr(err)
	_, err = os.Stat(filepath.Join(sh.dir, "other.db.key"))
	is.True(os.IsNotExist(err)) // The given key is used.
	code, _ := in.with("TICKETING_SECRET_KEY_FILE", file("wrong", strings.Repeat("cd", 32))).refusal("company", "list")
	is.Equal(code, "SECRET_KEY")
	is.Equal(len(in.array("company", "list", "--database", "sqlite:"+filepath.Join(sh.dir, "other.db"))), 1)

	for _, test := range []struct{ name, variable, path, says string }{
		{"missing", "TICKETING_SECRET_KEY_FILE", filepath.Join(sh.dir, "none"), "cannot be read: no such file"},
		{"empty", "TICKETING_DATABASE_FILE", file("empty", " \n"), "is empty"},
		{"long", "TICKETING_SECRET_KEY_FILE", file("long", strings.Repeat("a", 70_000)), "is longer than 65536 bytes"},
		{"no URL", "TICKETING_SMTP_FILE", file("smtp", "hush@"), "smtp"},
	} {
		command := []string{"company", "list"}
		if test.name == "no URL" {
			command = []string{"serve", "--addr", "127.0.0.1:0"}
		}
		code, message := in.with(test.variable, test.path).refusal(command...)
		is.Equal(code, "INVALID_REQUEST")
		is.True(strings.Contains(message, test.says)) // test.name
		is.True(!strings.Contains(message, "hush"))
	}
	for _, pair := range [][2]string{
		{"TICKETING_SECRET_KEY", strings.Repeat("ab", 32)}, {"TICKETING_DATABASE", "sqlite:other.db"},
	} {
		did := in.with(pair[0], pair[1]).run("company", "list")
		is.Equal(did.status, 2)
		is.True(strings.Contains(did.stderr, "can't be used together"))
	}
}
