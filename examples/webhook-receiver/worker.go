package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

const (
	idle  = time.Second // between two looks for work without a wake-up
	later = time.Minute // before failed work is tried again
)

// Work does the jobs of the inbox, one at a time, until the context ends. A job is deleted after it was done, so a
// crash between the two does it again. What must not happen twice belongs in one transaction with the deletion.
func (i *Inbox) Work(ctx context.Context, logger *slog.Logger, do func(ctx context.Context, event Event) error) {
	for ctx.Err() == nil {
		err := i.work(ctx, logger, do)
		if err == nil {
			continue
		}
		if !errors.Is(err, sql.ErrNoRows) && ctx.Err() == nil {
			logger.ErrorContext(ctx, "the inbox cannot be worked on", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
		case <-i.wake:
		case <-time.After(idle):
		}
	}
}

// work does the next job.
func (i *Inbox) work(ctx context.Context, logger *slog.Logger, do func(ctx context.Context, event Event) error) error {
	id, body, err := i.next(ctx, time.Now())
	if err != nil {
		return err
	}
	var event Event
	if err = json.Unmarshal(body, &event); err == nil {
		err = do(ctx, event)
	}
	if err != nil { // It does not delay the others.
		logger.ErrorContext(ctx, "work failed", slog.String("event", id), slog.Any("err", err))
		return i.postpone(ctx, id, time.Now().Add(later))
	}
	return i.done(context.WithoutCancel(ctx), id) // A stop does not repeat finished work.
}

// printer returns work that prints a line per event: its type, its id and what it is about. It prints no buyers.
func printer(stdout io.Writer) func(ctx context.Context, event Event) error {
	return func(_ context.Context, event Event) error {
		about, err := event.about()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdout, event.Type, event.ID, about)
		return err
	}
}

// about describes what happened (section 6.6).
func (e Event) about() (string, error) {
	var data struct {
		Order struct {
			ID          string `json:"id"`
			GrossAmount string `json:"gross_amount"`
		} `json:"order"`
		Amount       string `json:"amount"`
		BalanceAfter string `json:"balance_after"`
		AdmissionID  string `json:"admission_id"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return "", errors.New("its data is not as section 6.6 has it")
	}
	switch e.Type {
	case "order.created":
		return "order " + data.Order.ID + " for " + data.Order.GrossAmount, nil
	case "commission.accrued":
		return "commission of " + data.Amount, nil
	case "balance.low":
		return "the float is down to " + data.BalanceAfter, nil
	case "ticket.validated":
		return "admission " + data.AdmissionID, nil
	default:
		return "is of a type that is not known here", nil
	}
}
