package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// brokenMail returns stores that break what ticket mails rely on.
func brokenMail() []broken {
	writes := func(name, fails string, tx func(driver.Tx) driver.Tx) broken {
		return broken{name, fails, writing(tx)}
	}
	reads := func(name, fails string, tx func(driver.ReadTx) driver.ReadTx) broken {
		return broken{name, fails, reading(tx)}
	}
	const (
		lists     = "notifications/list is in order and in pages under every filter"
		claims    = "notifications/a claim keeps others away until it runs out"
		leavesOut = "notifications/one whose key exists is left out"
	)
	return []broken{
		reads("lists the lowest order first", lists, func(tx driver.ReadTx) driver.ReadTx { return lowestFirst{tx} }),
		reads("lists notifications of every event", lists, func(tx driver.ReadTx) driver.ReadTx { return anyEvent{tx} }),
		reads("lists notifications of every order", lists, func(tx driver.ReadTx) driver.ReadTx { return anyOrder{tx} }),
		reads("lists notifications of the end of the window", lists, func(tx driver.ReadTx) driver.ReadTx {
			return inclusiveMail{tx}
		}),
		reads("begins a page of copies with the next order", lists, func(tx driver.ReadTx) driver.ReadTx {
			return skipsCopies{tx}
		}),
		reads("heeds the company of a place", lists, func(tx driver.ReadTx) driver.ReadTx { return particular{tx} }),
		reads("counts a page of notifications", lists, func(tx driver.ReadTx) driver.ReadTx { return countsMailPage{tx} }),
		reads(
			"finds notifications of the same order twice", "notifications/those of orders are found in order",
			func(tx driver.ReadTx) driver.ReadTx { return oneByOne{tx} },
		),
		writes("overwrites a notification", leavesOut, func(tx driver.Tx) driver.Tx { return overwriting{tx} }),
		writes("refuses a notification that exists", leavesOut, func(tx driver.Tx) driver.Tx { return refusing{tx} }),
		writes(
			"leaves out the whole call", "notifications/one whose key exists is left out",
			func(tx driver.Tx) driver.Tx { return leavingOutAll{tx} },
		),
		writes(
			"refuses what another has made", "notifications/are made once by several at a time",
			func(tx driver.Tx) driver.Tx { return refusing{tx} },
		),
		writes("finishes by itself", "notifications/are sound", func(tx driver.Tx) driver.Tx { return finishing{tx} }),
		writes("keeps what was cancelled", "notifications/are sound", func(tx driver.Tx) driver.Tx {
			return cancelledForGood{tx}
		}),
		writes("claims notifications without a lease", claims, func(tx driver.Tx) driver.Tx { return unleasedMail{tx} }),
		writes("claims notifications for ever", claims, func(tx driver.Tx) driver.Tx { return leasedForEver{tx} }),
		writes("claims notifications before the time", "notifications/the longest due are claimed",
			func(tx driver.Tx) driver.Tx { return hastyMail{tx} }),
		writes("claims notifications in any order", "notifications/the longest due are claimed",
			func(tx driver.Tx) driver.Tx { return backwardsMail{tx} }),
		writes("claims the new with the old", "notifications/old ones alone are claimed where that is asked",
			func(tx driver.Tx) driver.Tx { return anyAge{tx} }),
		{"keeps a claim of an Update that failed", "notifications/a claim is taken back", keepsMailClaims},
		{"claims a notification that another has claimed", "notifications/a notification is claimed once", claimsMailTwice},
		writes("leaves gaps out of locks", "notifications/locks are aligned and of their company",
			func(tx driver.Tx) driver.Tx { return gaplessLocks{tx} }),
		writes("removes what is to be sent", "notifications/old ones that are final are removed",
			func(tx driver.Tx) driver.Tx { return sweepingMail{tx} }),
		writes("removes notifications of any time", "notifications/old ones that are final are removed",
			func(tx driver.Tx) driver.Tx { return timelessPrune{tx} }),
		reads("forgets what was removed", "notifications/the highest number removed is kept",
			func(tx driver.ReadTx) driver.ReadTx { return neverPruned{tx} }),
		{"keeps the last number removed", "notifications/the highest number removed is kept", lastPruned},
		writes("loses the code of an attempt", "notifications/round trip", func(tx driver.Tx) driver.Tx {
			return codeless{tx}
		}),
		writes("keeps the recipient", "notifications/a change is kept", func(tx driver.Tx) driver.Tx {
			return addressed{tx}
		}),
		writes("keeps another event", "notifications/a change is kept", func(tx driver.Tx) driver.Tx { return moving{tx} }),
		writes("makes what is missing", "notifications/a change of what is missing fails",
			func(tx driver.Tx) driver.Tx { return making{tx} }),
		writes("loses milliseconds of attempts", "values/times of every kind of record",
			func(tx driver.Tx) driver.Tx { return coarseAttempts{tx} }),
		{"locks what it keeps", "copies/what is handed out may be changed", locksShared},
		reads("has no mail to send", "work/is due by kind, company and endpoint, in pages",
			func(tx driver.ReadTx) driver.ReadTx { return idle{tx, driver.WorkMail} }),
		reads("has no mail to remove", "work/what is over is due to be removed",
			func(tx driver.ReadTx) driver.ReadTx { return idle{tx, driver.WorkPruneMail} }),
		reads("takes claimed notifications for due", "work/a notification is due when its time has come",
			func(tx driver.ReadTx) driver.ReadTx { return impatient{tx} }),
		reads("stops at what waits", "work/what waits is passed over", func(tx driver.ReadTx) driver.ReadTx {
			return stopping{tx}
		}),
		{"keeps the first sender", "mail senders/the last version holds", firstSender},
		writes("passes over a version that is there", "mail senders/taken version", func(tx driver.Tx) driver.Tx {
			return overlookingSender{tx}
		}),
		writes("takes any version", "mail senders/versions begin with 1", func(tx driver.Tx) driver.Tx {
			return anyVersion{tx}
		}),
		writes("loses the address for bounces", "mail senders/round trip", func(tx driver.Tx) driver.Tx {
			return bounceless{tx}
		}),
	}
}

// idle reports no work of a kind.
type idle struct {
	driver.ReadTx

	kind driver.WorkKind
}

func (i idle) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	due, err := i.ReadTx.DueWork(ctx, query)
	return slices.DeleteFunc(due, func(d driver.DueWork) bool { return d.Kind == i.kind }), err
}

// stopping returns no mail to send if the first company has no mail that is due.
type stopping struct{ driver.ReadTx }

func (s stopping) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	due, err := s.ReadTx.DueWork(ctx, query)
	if err != nil {
		return nil, err
	}
	query.At = query.At.Add(time.Hour)
	later, err := s.ReadTx.DueWork(ctx, query)
	waits := func(d driver.DueWork) bool {
		first := slices.IndexFunc(later, func(l driver.DueWork) bool { return l.Kind == driver.WorkMail })
		return d.Kind == driver.WorkMail && first >= 0 && later[first].CompanyID != d.CompanyID
	}
	return slices.DeleteFunc(due, waits), err
}

// earliest returns the first version that was appended.
type earliest struct {
	driver.Tx

	first *driver.MailSender
}

func firstSender(s driver.Store) driver.Store {
	first := new(driver.MailSender)
	return writing(func(tx driver.Tx) driver.Tx { return earliest{tx, first} })(s)
}

func (e earliest) AppendMailSender(ctx context.Context, sender driver.MailSender) error {
	if e.first.Version == 0 {
		*e.first = sender
	}
	return e.Tx.AppendMailSender(ctx, sender)
}

func (e earliest) MailSender(ctx context.Context) (driver.MailSender, error) {
	kept, err := e.Tx.MailSender(ctx)
	if kept.Version > 0 {
		kept = *e.first
	}
	return kept, err
}

type overlookingSender struct{ driver.Tx }

func (o overlookingSender) AppendMailSender(ctx context.Context, sender driver.MailSender) error {
	kept, err := o.MailSender(ctx)
	if err != nil || kept.Version == sender.Version {
		return err
	}
	return o.Tx.AppendMailSender(ctx, sender)
}

type anyVersion struct{ driver.Tx }

func (a anyVersion) AppendMailSender(ctx context.Context, sender driver.MailSender) error {
	sender.Version = max(sender.Version, 1)
	return a.Tx.AppendMailSender(ctx, sender)
}

type bounceless struct{ driver.Tx }

func (b bounceless) AppendMailSender(ctx context.Context, sender driver.MailSender) error {
	sender.Bounces = ""
	return b.Tx.AppendMailSender(ctx, sender)
}
