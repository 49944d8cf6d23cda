package ticketing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/seal"
	"github.com/floatgate/ticketing/internal/testdb"
)

// secretRecord returns a version of an endpoint's secret as it is stored.
func (e *env) secretRecord(
	tb testing.TB, endpoint driver.WebhookEndpoint, version int64,
) (record driver.WebhookSecret) {
	tb.Helper()
	is.New(tb).NoErr(e.store.View(tb.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{
			{CompanyID: endpoint.CompanyID, Endpoint: endpoint.Number, Version: version},
		})
		if err == nil {
			record = found[0]
		}
		return err
	}))
	return record
}

// unsealed decrypts a stored secret, by the bytes that package seal specifies and the domain and id of a webhook
// secret.
func unsealed(tb testing.TB, record driver.WebhookSecret, key []byte) string {
	tb.Helper()
	is := is.New(tb)
	parts := strings.Split(record.Secret, ":")
	is.Equal(len(parts), 3)
	ring, err := seal.New([]seal.Key{{Name: parts[1], Secret: key}})
	is.NoErr(err)
	text, _, err := ring.Open(record.Secret, "webhook-secret",
		fmt.Sprintf("%s/%d/%d", record.CompanyID, record.Endpoint, record.Version))
	is.NoErr(err)
	return string(text)
}

// TestWebhookSecretsDoNotShow checks that a secret does not show, however it is printed, logged or marshalled. The only
// exception is the JSON of the results that hand it out.
func TestWebhookSecretsDoNotShow(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const text = "svc_whsec_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_abcde"
	secret := ticketing.WebhookSecret(text)
	issued := ticketing.IssuedWebhookEndpoint{
		WebhookEndpoint: ticketing.WebhookEndpoint{ID: uuid.New(), URL: hookURL}, Secret: secret,
	}
	prepared := ticketing.PreparedWebhookSecret{ID: uuid.New(), Secret: secret}
	unseen := func(where, told string) {
		t.Helper()
		rest := strings.TrimPrefix(text, "svc_whsec_")
		for i := range len(rest) - 5 {
			if strings.Contains(told, rest[i:i+6]) || strings.Contains(strings.ToLower(told), fmt.Sprintf("%x", rest[i:i+6])) {
				t.Fatalf("%s shows a part of the secret: %s", where, told)
			}
		}
	}
	values := []any{secret, &secret, issued, &issued, prepared, &prepared, []any{issued, prepared}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %[1]v", "%08.3f", "%!"} {
		for _, value := range values {
			unseen(format, fmt.Sprintf(format, value))
		}
	}
	is.Equal(secret.String(), "svc_whsec_…")
	var log strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("made", "secret", secret, "issued", issued, "prepared", prepared)
	}
	unseen("the log", log.String())
	is.True(strings.Contains(log.String(), issued.ID.String()))
	is.True(strings.Contains(log.String(), prepared.ID.String()))
	marshalled, err := json.Marshal(map[string]any{"a": secret, "b": struct{ S *ticketing.WebhookSecret }{&secret}})
	is.NoErr(err)
	unseen("JSON", string(marshalled))

	is.Equal(string(secret), text)
	is.Equal(show(t, prepared), fmt.Sprintf(`{"id":"%s","secret":"%s"}`, prepared.ID, text))
	is.True(strings.HasSuffix(show(t, issued), `,"secret":"`+text+`"}`))
	defer func() { unseen("a panic", fmt.Sprint(recover())) }()
	panic(issued)
}

// TestWebhookSecretsAreRotatedInTwoSteps checks Section 6.5: "Secret rotation is two-phase: prepare and reveal the next
// secret; deploy a receiver that accepts both; activate". The stored secret is encrypted, and nothing else ever shows
// it.
func TestWebhookSecretsAreRotatedInTwoSteps(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		kept := func() driver.WebhookEndpoint { return e.endpointRecord(t, made.ID) }
		is.Equal(unsealed(t, e.secretRecord(t, kept(), 1), secretKey('a')), string(made.Secret))
		is.Equal(kept().ActiveSecret, int64(1))

		_, err := e.staff.ActivateWebhookSecret(t.Context(), made.ID)
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err), "The endpoint has no prepared secret. Prepare one first.")

		first, err := e.staff.PrepareWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)
		is.Equal(first.ID, made.ID)
		is.Equal(unsealed(t, e.secretRecord(t, kept(), 2), secretKey('a')), string(first.Secret))
		is.Equal(kept().ActiveSecret, int64(1)) // The active secret still signs.
		shown, err := e.staff.GetWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		is.True(shown.PendingSecret)

		second, err := e.staff.PrepareWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)
		is.True(second.Secret != first.Secret)
		is.Equal(e.secretRecord(t, kept(), 2), driver.WebhookSecret{}) // Nothing will be signed with this secret.
		activated, err := e.staff.ActivateWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)
		is.True(!activated.PendingSecret)
		is.Equal(kept().ActiveSecret, int64(3))
		is.Equal(unsealed(t, e.secretRecord(t, kept(), 3), secretKey('a')), string(second.Secret))
		// This secret signs the retries of earlier deliveries.
		is.Equal(unsealed(t, e.secretRecord(t, kept(), 1), secretKey('a')), string(made.Secret))
		_, err = e.staff.ActivateWebhookSecret(t.Context(), made.ID)
		is.Equal(code(err), ticketing.CodeConflict)

		acts := show(t, e.acts(t, company))
		is.True(strings.Contains(acts, `{"activeSecret":{"before":1,"after":3},"pendingSecret":{"before":3,"after":null}}`))
		is.True(strings.Contains(acts, `{"pendingSecret":{"before":2,"after":3}}`))
		everything := acts + e.log.String() + fmt.Sprintf("%+v", kept()) + fmt.Sprintf("%+v", e.secretRecord(t, kept(), 3))
		for _, secret := range []ticketing.WebhookSecret{made.Secret, first.Secret, second.Secret} {
			is.True(!strings.Contains(everything, strings.TrimPrefix(string(secret), "svc_whsec_")))
		}
	})
}

// TestRotationsOfWebhookSecrets checks random sequences of operations. The active secret is the one that was last
// activated, and the pending one is the one that was last prepared since. Both decrypt, and no secret is used again.
func TestRotationsOfWebhookSecrets(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, store.Open(t))
			rapid.Check(t, someRuns(testdb.Store{Name: store.Name}, func(r *rapid.T) {
				made := e.hook(t, e.unverified(t))
				active, pending := made.Secret, ticketing.WebhookSecret("")
				seen := map[ticketing.WebhookSecret]bool{active: true}
				status := ticketing.WebhookEnabled
				r.Repeat(map[string]func(*rapid.T){
					"prepare": func(r *rapid.T) {
						prepared, err := e.staff.PrepareWebhookSecret(t.Context(), made.ID)
						expect(r, "prepare", err, "")
						if seen[prepared.Secret] {
							r.Fatal("a secret came again")
						}
						seen[prepared.Secret], pending = true, prepared.Secret
					},
					"activate": func(r *rapid.T) {
						_, err := e.staff.ActivateWebhookSecret(t.Context(), made.ID)
						if pending == "" {
							expect(r, "activate", err, ticketing.CodeConflict)
							return
						}
						expect(r, "activate", err, "")
						active, pending = pending, ""
					},
					"disable": func(r *rapid.T) {
						_, err := e.staff.DisableWebhookEndpoint(t.Context(), made.ID)
						expect(r, "disable", err, "")
						status = ticketing.WebhookDisabled
					},
					"enable": func(r *rapid.T) {
						_, err := e.staff.EnableWebhookEndpoint(t.Context(), made.ID)
						expect(r, "enable", err, "")
						status = ticketing.WebhookEnabled
					},
					"": func(r *rapid.T) {
						kept := e.endpointRecord(t, made.ID)
						same(r, "status", kept.Status, status)
						same(r, "active", unsealed(t, e.secretRecord(t, kept, kept.ActiveSecret), secretKey('a')), string(active))
						same(r, "a pending one", kept.PendingSecret != 0, pending != "")
						if pending != "" {
							same(r, "pending", unsealed(t, e.secretRecord(t, kept, kept.PendingSecret), secretKey('a')), string(pending))
						}
						for version := range kept.LastSecret + 1 {
							if version > kept.ActiveSecret && version != kept.PendingSecret {
								same(r, "a forgotten one", e.secretRecord(t, kept, version), driver.WebhookSecret{})
							}
						}
					},
				})
			}))
		})
	}
}

// TestWebhookSecretsAreReencrypted checks the replacement of a master secret. A service that has both re-encrypts all
// signing secrets at once, including those of disabled endpoints and those that still sign retries. A service without
// the master secret that some signing secret needs is refused at the start. A signing secret that does not decrypt is
// left as it is, counted and logged.
func TestWebhookSecretsAreReencrypted(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		companies := []uuid.UUID{e.unverified(t), e.unverified(t)}
		first, second := e.hook(t, companies[0]), e.hook(t, companies[1])
		next, err := e.staff.PrepareWebhookSecret(t.Context(), first.ID)
		is.NoErr(err)
		_, err = e.staff.ActivateWebhookSecret(t.Context(), first.ID)
		is.NoErr(err)
		pending, err := e.staff.PrepareWebhookSecret(t.Context(), second.ID)
		is.NoErr(err)
		_, err = e.staff.DisableWebhookEndpoint(t.Context(), second.ID)
		is.NoErr(err)
		reencrypt := func(keys ...[]byte) ticketing.WebhookSecretReencryption {
			t.Helper()
			done, err := e.service(t, keys...).As(ticketing.Staff("test")).ReencryptWebhookSecrets(t.Context())
			is.NoErr(err)
			return done
		}
		is.Equal(show(t, reencrypt(secretKey('a'))), `{"resealed":0,"left":0}`)
		acts := e.acts(t, uuid.Nil)

		alone := func() error { return e.service(t, secretKey('b')).Ready(t.Context()) }
		is.True(errors.Is(alone(), ticketing.ErrSecretKeys))
		stranger := e.service(t, secretKey('b')).As(ticketing.Staff("test"))
		_, err = stranger.ReencryptWebhookSecrets(t.Context())
		is.True(errors.Is(err, ticketing.ErrSecretKeys))
		_, err = stranger.CreateWebhookEndpoint(t.Context(), companies[0], hookParams())
		is.True(errors.Is(err, ticketing.ErrSecretKeys))
		_, err = stranger.PrepareWebhookSecret(t.Context(), first.ID)
		is.True(errors.Is(err, ticketing.ErrSecretKeys))
		_, err = stranger.ActivateWebhookSecret(t.Context(), second.ID)
		is.True(errors.Is(err, ticketing.ErrSecretKeys))

		is.Equal(show(t, reencrypt(secretKey('b'), secretKey('a'))), `{"resealed":4,"left":0}`)
		is.Equal(show(t, reencrypt(secretKey('b'), secretKey('a'))), `{"resealed":0,"left":0}`)
		is.NoErr(alone())
		is.True(errors.Is(e.service(t, secretKey('a')).Ready(t.Context()), ticketing.ErrSecretKeys))
		is.Equal(e.acts(t, uuid.Nil), acts) // The secrets did not change.
		for _, kept := range []struct {
			endpoint uuid.UUID
			version  int64
			want     ticketing.WebhookSecret
		}{{first.ID, 1, first.Secret}, {first.ID, 2, next.Secret}, {second.ID, 1, second.Secret}, {
			second.ID, 2, pending.Secret,
		}} {
			is.Equal(unsealed(t, e.secretRecord(t, e.endpointRecord(t, kept.endpoint), kept.version), secretKey('b')),
				string(kept.want))
		}

		// A secret that was copied from another endpoint does not decrypt and is not activated. A rotation repairs it.
		stolen := e.secretRecord(t, e.endpointRecord(t, first.ID), 1)
		stolen.CompanyID, stolen.Version = companies[1], 2
		e.write(t, companies[1], func(ctx context.Context, tx driver.Tx) error {
			return tx.UpdateWebhookSecret(ctx, stolen)
		})
		is.Equal(show(t, reencrypt(secretKey('c'), secretKey('b'))), `{"resealed":3,"left":1}`)
		is.True(strings.Contains(e.log.String(), "a webhook secret was not re-encrypted"))
		staff := e.service(t, secretKey('c'), secretKey('b')).As(ticketing.Staff("test"))
		_, err = staff.ActivateWebhookSecret(t.Context(), second.ID)
		is.True(err != nil && strings.Contains(err.Error(), "was changed from outside"))
		is.True(!errors.Is(err, ticketing.ErrSecretKeys))
		is.Equal(e.endpointRecord(t, second.ID).ActiveSecret, int64(1))
		_, err = staff.PrepareWebhookSecret(t.Context(), second.ID)
		is.NoErr(err)
		_, err = staff.ActivateWebhookSecret(t.Context(), second.ID)
		is.NoErr(err)
		is.Equal(show(t, reencrypt(secretKey('c'), secretKey('b'))), `{"resealed":0,"left":0}`)
	})
}
