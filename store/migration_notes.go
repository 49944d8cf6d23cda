package store

// MigrationNotes are what an operator wants to know about a migration before applying it. The texts are sentences.
type MigrationNotes struct {
	// Changes is what the migration changes.
	Changes string
	// Takes is how long it takes, and what waits meanwhile.
	Takes string
	// Blocks lists the existing tables that it locks until it commits, in the order of their names. With PostgreSQL other
	// transactions can read and write all other tables meanwhile. It is empty with SQLite, where all writers wait and
	// readers continue.
	Blocks []TableLock
	// Older is what happens to servers of the version before that continue to run after the migration.
	Older string
}

// TableLock is how a migration locks a table.
type TableLock struct {
	Table string
	// Reads reports whether readers wait, too. Writers always wait.
	Reads bool
}

const (
	moments    = "Milliseconds. "
	nobody     = moments + "Nobody waits."
	unaffected = "They go on as before."
)

// migrationNotes returns the notes of a migration. They are not in its file, whose checksum is in users' databases. The
// durations are orders of magnitude, for PostgreSQL and SQLite alike.
func migrationNotes(name string) MigrationNotes {
	switch name {
	case "0001_tickets":
		return MigrationNotes{
			Changes: "Adds the tables of companies, events, inventory, orders, wallets, the ledger and API keys.",
			Takes:   nobody,
			Older:   "There are none.",
		}
	case "0002_audit":
		return MigrationNotes{
			Changes: "Adds the audit log.",
			Takes:   nobody,
			Older:   unaffected + " What operators do with them is not in the audit log.",
		}
	case "0003_people":
		return MigrationNotes{
			Changes: "Adds users, members of companies and cases of verification.",
			Takes:   nobody,
			Older:   unaffected,
		}
	case "0004_settlements":
		return MigrationNotes{
			Changes: "Adds bank accounts, settlements, and refunds and cancellations of orders.",
			Takes:   nobody,
			Older:   unaffected,
		}
	case "0005_webhooks":
		return MigrationNotes{
			Changes: "Adds webhook endpoints and deliveries, two columns of the outbox and one of the companies. Replaces " +
				"an index of the outbox.",
			Takes:  "Sales wait while it reads the outbox: on the order of a second for each million facts.",
			Blocks: []TableLock{{"ticketing_companies", true}, {"ticketing_outbox", true}},
			Older:  unaffected + " Their sales reach no endpoint: register endpoints after the last one has ended.",
		}
	case "0006_statistics":
		return MigrationNotes{
			Changes: "Keeps PostgreSQL from counting the companies of rows in new databases. Tables that were analysed " +
				"before stay as they are. With SQLite it changes nothing.",
			Takes: moments + "A manual VACUUM, ANALYZE or CREATE INDEX makes it wait, for 5 s at most; then run it again.",
			Older: unaffected,
		}
	case "0007_notifications":
		return MigrationNotes{
			Changes: "Adds ticket mails and the mail sender.",
			Takes:   nobody,
			Older:   unaffected + " Their sales get no mail: set the sender after the last one has ended.",
		}
	case "0008_accounts":
		return MigrationNotes{
			Changes: "Adds sessions, links and codes to sign in with, passkeys and the staff, and an index of the members.",
			Takes:   moments + "Changes of members wait.",
			Blocks:  []TableLock{{"ticketing_members", false}},
			Older:   unaffected,
		}
	case "0009_console_reads":
		return MigrationNotes{
			Changes: "Adds indexes for the console, six of them of the audit log, and when books were verified. The actors " +
				"and actions of the audit log compare by code point.",
			Takes: "On the order of ten seconds for each million entries of the audit log, and of one for each million " +
				"deliveries of webhooks. What operators do and the delivery of webhooks wait. Sales go on; with SQLite they wait.",
			Blocks: []TableLock{
				{"ticketing_audit_entries", true},
				{"ticketing_companies", false},
				{"ticketing_settlements", false},
				{"ticketing_verification_cases", false},
				{"ticketing_webhook_deliveries", false},
			},
			Older: unaffected,
		}
	case "0010_sales":
		return MigrationNotes{
			Changes: "Adds the sums of sales and the index of buyers. The servers count the orders from before in the " +
				"background, a few thousand a second at most.",
			Takes: nobody,
			Older: unaffected + " They do not count what they sell: after the last one has ended, run \"ticketing " +
				"stats rebuild\" once. Repeat the erasures that they made meanwhile.",
		}
	case "0011_search":
		return MigrationNotes{
			Changes: "Adds indexes of the ledger, the events and the float credits for the search of the console.",
			Takes: "Sales wait: on the order of a second for each million entries of the ledger that are in memory. With " +
				"PostgreSQL and more than ten million entries create the index first, while sales go on: docs/operating.md, " +
				"\"Migration 11\".",
			Blocks: []TableLock{
				{"ticketing_events", false}, {"ticketing_float_credits", false}, {"ticketing_ledger_entries", false},
			},
			Older: unaffected,
		}
	case "0012_event_sums":
		return MigrationNotes{
			Changes: "Adds the total of each event to the sums of sales.",
			Takes:   "Nobody waits. It reads the sums: on the order of a second for each million of them.",
			Older: unaffected + " They do not count what they sell in the totals: after the last one has ended, run " +
				"\"ticketing stats rebuild\" once.",
		}
	case "0013_audit_ids":
		return MigrationNotes{
			Changes: "Adds an index of the ids of the audit log.",
			Takes: "On the order of a second for each million entries of the audit log. What operators do and sign-ins wait. " +
				"Sales go on, but for those of a company whose money is moved meanwhile; with SQLite they wait. With " +
				"PostgreSQL and more than ten million entries create the index first: docs/operating.md, \"Migration 13\".",
			Blocks: []TableLock{{"ticketing_audit_entries", false}},
			Older:  unaffected,
		}
	case "0014_audit_users":
		return MigrationNotes{
			Changes: "Adds a column to the audit log: whether an entry is one of a user.",
			Takes:   moments + "What operators do and sign-ins wait.",
			Blocks:  []TableLock{{"ticketing_audit_entries", true}},
			Older: unaffected + " Of sign-ins that newer servers write they show the id of the user as that of the " +
				"company.",
		}
	case "0015_queues":
		return MigrationNotes{
			Changes: "Has PostgreSQL vacuum the outbox, the deliveries of webhooks and the ticket mails once a thousand rows " +
				"and a hundredth of the table were updated or deleted, unless that is set already. With SQLite it changes " +
				"nothing.",
			Takes: moments + "A manual VACUUM, ANALYZE or CREATE INDEX makes it wait, for 5 s at most; then run it again.",
			Older: unaffected,
		}
	case "0016_revisions":
		return MigrationNotes{
			Changes: "Adds a revision to each company. With PostgreSQL, but not on a Citus cluster, triggers change it with " +
				"the rows that the company's sales only read. A trigger of a host's on the companies then runs for these, too.",
			Takes: "On the order of a second for each hundred thousand companies. Sales wait.",
			Blocks: []TableLock{
				{"ticketing_api_keys", false},
				{"ticketing_brandings", false},
				{"ticketing_commission_rates", false},
				{"ticketing_companies", true},
				{"ticketing_events", false},
			},
			Older: unaffected,
		}
	default:
		return MigrationNotes{}
	}
}

// notesOf returns the notes of a migration of a dialect.
func notesOf(dialect, name string) MigrationNotes {
	notes := migrationNotes(name)
	if dialect != "postgres" {
		notes.Blocks = nil
	}
	return notes
}
