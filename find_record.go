package ticketing

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// add adds what belongs to a company, and returns it for what only some kinds have.
func (f *finder) add(kind FoundKind, companyID, id uuid.UUID, title string, at time.Time) *Found {
	one := Found{Kind: kind, Title: title, At: Time{Time: at}}
	if companyID != uuid.Nil {
		one.CompanyID = &companyID
	}
	if id != uuid.Nil {
		one.ID = &id
	}
	f.found = append(f.found, one)
	return &f.found[len(f.found)-1]
}

// byID finds the records with an id. What the actor may not see is not even looked for.
func (f *finder) byID(ctx context.Context, id uuid.UUID) error {
	var kinds []driver.RecordKind
	for _, kind := range []driver.RecordKind{
		driver.RecordCompany, driver.RecordEvent, driver.RecordOrder, driver.RecordAdmission, driver.RecordAPIKey,
		driver.RecordWebhookEndpoint, driver.RecordDelivery, driver.RecordSettlement, driver.RecordRate,
		driver.RecordMember, driver.RecordStaff,
	} {
		if f.sees(FoundKind(kind)) {
			kinds = append(kinds, kind)
		}
	}
	records, err := f.tx.FindRecords(ctx, driver.RecordQuery{
		ID: id, Kinds: kinds, CompanyID: f.companyID, Members: maxFound,
	})
	if err != nil {
		return err
	}
	var members []driver.MemberRef
	for _, record := range records {
		if record.Kind == driver.RecordMember {
			members = append(members, driver.MemberRef{CompanyID: record.CompanyID, UserID: id})
			continue
		}
		if err := f.record(ctx, record, id); err != nil {
			return err
		}
	}
	if err := f.members(ctx, members); err != nil {
		return err
	}
	if len(records) > 0 {
		return nil // An id names one thing.
	}
	for _, search := range []func(context.Context, uuid.UUID) error{f.deliveriesOf, f.auditEntry, f.admissionByPart} {
		before := len(f.found)
		if err := search(ctx, id); err != nil || len(f.found) > before {
			return err
		}
	}
	return nil
}

// auditEntry adds an entry of the audit log. An entry about no company is found on the platform alone.
func (f *finder) auditEntry(ctx context.Context, id uuid.UUID) error {
	if !f.sees(FoundAuditEntry) {
		return nil
	}
	entry, err := f.tx.FindAuditEntry(ctx, id)
	if err != nil || entry.ID == uuid.Nil || f.companyID != uuid.Nil && entry.CompanyID != f.companyID {
		return err
	}
	f.add(FoundAuditEntry, entry.CompanyID, id, entry.Action, entry.At)
	return nil
}

// deliveriesOf adds the deliveries of an event that webhooks carry. Their index begins with the company.
func (f *finder) deliveriesOf(ctx context.Context, messageID uuid.UUID) error {
	if f.companyID == uuid.Nil || !f.sees(FoundDelivery) {
		return nil
	}
	deliveries, err := f.tx.ListMessageDeliveries(ctx, f.companyID, messageID, maxFound)
	for _, delivery := range deliveries {
		f.addDelivery(delivery)
	}
	return err
}

// addDelivery adds a delivery by its type.
func (f *finder) addDelivery(d driver.Delivery) {
	f.add(FoundDelivery, d.CompanyID, d.ID, string(d.Type), d.CreatedAt).Status = optional(string(d.Status))
}

// record adds one record, which FindRecords has found.
func (f *finder) record(ctx context.Context, record driver.FoundRecord, id uuid.UUID) error {
	companyID := record.CompanyID
	switch record.Kind {
	case driver.RecordCompany:
		companies, err := f.tx.Companies(ctx, []uuid.UUID{id})
		f.addCompanies(companies)
		return err
	case driver.RecordEvent:
		events, err := f.tx.Events(ctx, []driver.EventRef{{CompanyID: companyID, ID: id}})
		f.addEvents(events)
		return err
	case driver.RecordOrder:
		orders, err := f.tx.Orders(ctx, []driver.OrderRef{{CompanyID: companyID, ID: id}})
		if err != nil {
			return err
		}
		return f.addOrders(ctx, orders)
	case driver.RecordAdmission:
		return f.admission(ctx, driver.AdmissionRef{CompanyID: companyID, ID: id},
			func(driver.Admission) bool { return true })
	case driver.RecordAPIKey:
		key, err := firstRecord(f.tx.APIKeys(ctx, []driver.APIKeyRef{{CompanyID: companyID, ID: id}}))
		f.add(FoundAPIKey, companyID, id, key.Name, key.CreatedAt).Status = optional(string(key.Status))
		return err
	case driver.RecordWebhookEndpoint:
		endpoint, err := f.tx.FindWebhookEndpoint(ctx, id)
		one := f.add(FoundWebhookEndpoint, companyID, id, endpoint.URL, endpoint.CreatedAt)
		one.Status = optional(string(endpoint.Status))
		return err
	case driver.RecordDelivery:
		delivery, err := f.tx.FindDelivery(ctx, id)
		if err == nil {
			f.addDelivery(delivery)
		}
		return err
	case driver.RecordSettlement:
		settlement, err := firstRecord(f.tx.Settlements(ctx, []driver.SettlementRef{{CompanyID: companyID, ID: id}}))
		one := f.add(FoundSettlement, companyID, id, "", settlement.RequestedAt)
		one.Status, one.Amount = optional(string(settlement.Status)), &settlement.Amount
		return err
	case driver.RecordRate:
		rate, err := firstRecord(f.tx.Rates(ctx, []driver.RateRef{{CompanyID: companyID, ID: id}}))
		f.add(FoundRate, companyID, id, rate.Rate.Value()+" "+string(rate.Rate.Unit()), rate.CreatedAt)
		return err
	case driver.RecordStaff:
		return f.staff(ctx, id)
	case driver.RecordMember:
	}
	return nil
}

// byCode finds the admission of a code, whose event has to be that of the admission.
func (f *finder) byCode(ctx context.Context, eventID, id uuid.UUID) error {
	return f.admissionIf(ctx, id, func(a driver.Admission) bool { return a.EventID == eventID })
}

// admissionByPart finds the admission whose line of an order or whose validation has the id.
func (f *finder) admissionByPart(ctx context.Context, id uuid.UUID) error {
	err := f.admissionIf(ctx, derivedID(id, validationMask),
		func(a driver.Admission) bool { return a.ValidationID == id })
	if err != nil {
		return err
	}
	return f.admissionIf(ctx, derivedID(id, lineMask), func(a driver.Admission) bool { return a.LineID == id })
}

// admissionIf finds an admission by its id, if it matches.
func (f *finder) admissionIf(ctx context.Context, id uuid.UUID, matches func(driver.Admission) bool) error {
	if !f.sees(FoundAdmission) {
		return nil
	}
	records, err := f.tx.FindRecords(ctx, driver.RecordQuery{
		ID: id, Kinds: []driver.RecordKind{driver.RecordAdmission}, CompanyID: f.companyID,
	})
	if err != nil || len(records) == 0 {
		return err
	}
	return f.admission(ctx, driver.AdmissionRef{CompanyID: records[0].CompanyID, ID: id}, matches)
}

// admission adds an admission, with the time of its sale, if it matches.
func (f *finder) admission(ctx context.Context, ref driver.AdmissionRef, matches func(driver.Admission) bool) error {
	admission, err := firstRecord(f.tx.Admissions(ctx, []driver.AdmissionRef{ref}))
	if err != nil || !matches(admission) {
		return err
	}
	order, err := firstRecord(f.tx.Orders(ctx, []driver.OrderRef{admission.OrderRef()}))
	if err != nil {
		return err
	}
	status := admissionValid
	switch {
	case admission.Voided:
		status = admissionVoid
	case admission.ValidationID != uuid.Nil:
		status = admissionAdmitted
	}
	one := f.add(FoundAdmission, ref.CompanyID, ref.ID, admission.Title, order.ConfirmedAt)
	one.Status, one.OrderID, one.Amount = &status, &order.ID, &admission.UnitPrice
	return nil
}

// byEmail finds a buyer with their newest orders, and the members and the staff with the email.
func (f *finder) byEmail(ctx context.Context, email string) error {
	var buyers []driver.BuyerRef // At one company the prefix finds them.
	if f.sees(FoundOrder) || f.companyID == uuid.Nil && f.sees(FoundBuyer) {
		orders, err := f.ordersOf(ctx, email)
		if err != nil {
			return err
		}
		for _, order := range orders {
			buyers = append(buyers, driver.BuyerRef{CompanyID: order.CompanyID, Email: email})
		}
		if f.sees(FoundOrder) {
			if err := f.addOrders(ctx, orders[:min(maxFound, len(orders))]); err != nil {
				return err
			}
		}
	}
	if f.companyID != uuid.Nil {
		if err := f.buyers(ctx, email); err != nil {
			return err
		}
	} else if f.sees(FoundBuyer) && len(buyers) > 0 {
		records, err := f.tx.Buyers(ctx, distinct(buyers))
		if err != nil {
			return err
		}
		f.addBuyers(records[:min(maxFound, len(records))])
	}
	return f.people(ctx, email)
}

// ordersOf returns orders of an email, newest first. At all companies it has the ten newest of each of at least ten
// companies, those with the highest ids, and so the newest of all for nearly everybody.
func (f *finder) ordersOf(ctx context.Context, email string) ([]driver.Order, error) {
	if f.companyID != uuid.Nil {
		return findOrdersOfBuyer(ctx, f.tx, driver.OrderQuery{CompanyID: f.companyID, BuyerEmail: email, Limit: maxFound})
	}
	var all []driver.Order
	var after driver.OrderNumber
	read := make(map[uuid.UUID]int) // how many orders of each company
	// A company takes fewer than two of the rounds. One that returns fewer orders than it may is not the last: an entry of
	// the index whose order has another buyer by now returns none.
	for range 2 * maxFound {
		orders, err := f.tx.FindBuyerOrders(ctx, email, after, maxFound)
		if err != nil {
			return nil, err
		}
		if len(orders) == 0 {
			break
		}
		all = append(all, orders...)
		for _, order := range orders {
			read[order.CompanyID]++
		}
		after = orders[len(orders)-1].NumberRef()
		if read[after.CompanyID] >= maxFound {
			after.Number = 0 // The other orders of this company are older.
		}
	}
	slices.SortStableFunc(all, func(a, b driver.Order) int {
		return cmp.Or(b.ConfirmedAt.Compare(a.ConfirmedAt), cmp.Compare(b.Number, a.Number))
	})
	return all, nil
}

// people finds the user with an email as a member and as staff.
func (f *finder) people(ctx context.Context, email string) error {
	if !f.sees(FoundMember) && !f.sees(FoundStaff) {
		return nil
	}
	user, err := firstRecord(f.tx.FindUsers(ctx, []string{email}))
	if err != nil || user.ID == uuid.Nil {
		return err
	}
	if f.sees(FoundMember) {
		refs := []driver.MemberRef{{CompanyID: f.companyID, UserID: user.ID}}
		if f.companyID == uuid.Nil {
			joined, err := f.tx.ListMemberships(ctx, user.ID, maxFound)
			if err != nil {
				return err
			}
			refs = refs[:0]
			for _, member := range joined {
				refs = append(refs, driver.MemberRef{CompanyID: member.CompanyID, UserID: user.ID})
			}
		}
		if err := f.members(ctx, refs); err != nil {
			return err
		}
	}
	if f.sees(FoundStaff) {
		return f.staff(ctx, user.ID)
	}
	return nil
}

// members adds members of one user, without those who were removed.
func (f *finder) members(ctx context.Context, refs []driver.MemberRef) error {
	if len(refs) == 0 {
		return nil
	}
	members, err := f.tx.Members(ctx, refs)
	if err != nil {
		return err
	}
	user, err := firstRecord(f.tx.Users(ctx, []uuid.UUID{refs[0].UserID}))
	if err != nil {
		return err
	}
	for _, member := range members {
		if member.Role == "" {
			continue
		}
		one := f.add(FoundMember, member.CompanyID, member.UserID, member.Name, member.CreatedAt)
		one.Status, one.Email = optional(string(member.Role)), &user.Email
	}
	return nil
}

// staff adds a user who is staff.
func (f *finder) staff(ctx context.Context, userID uuid.UUID) error {
	member, err := firstRecord(f.tx.StaffMembers(ctx, []uuid.UUID{userID}))
	if err != nil || member.Role == "" {
		return err
	}
	user, err := firstRecord(f.tx.Users(ctx, []uuid.UUID{userID}))
	one := f.add(FoundStaff, uuid.Nil, userID, member.Name, member.CreatedAt)
	one.Status, one.Email = optional(string(member.Role)), &user.Email
	return err
}

// companies finds companies by the beginning of their names. At one company there is none but itself.
func (f *finder) companies(ctx context.Context, text string) error {
	if f.companyID != uuid.Nil || !f.sees(FoundCompany) {
		return nil
	}
	companies, err := f.tx.SearchCompanies(ctx, driver.CompanyQuery{
		Prefix: driver.FoldedName(text), Order: driver.CompaniesByName, Limit: maxFound,
	})
	f.addCompanies(companies)
	return err
}

// events finds events by the beginning of their titles.
func (f *finder) events(ctx context.Context, text string) error {
	if !f.sees(FoundEvent) {
		return nil
	}
	events, err := f.tx.SearchEvents(ctx, driver.EventSearch{
		CompanyID: f.companyID, Prefix: driver.FoldedName(text), Limit: maxFound,
	})
	f.addEvents(events)
	return err
}

// buyers finds the buyers of one company by the beginning of their emails.
func (f *finder) buyers(ctx context.Context, text string) error {
	if f.companyID == uuid.Nil || !f.sees(FoundBuyer) {
		return nil
	}
	buyers, err := f.tx.ListBuyers(ctx, driver.BuyerQuery{
		CompanyID: f.companyID, Prefix: strings.ToLower(text), Limit: maxFound,
	})
	f.addBuyers(buyers)
	return err
}

// fundings finds fundings by their reference.
func (f *finder) fundings(ctx context.Context, reference string) error {
	if !f.sees(FoundFunding) {
		return nil
	}
	find := func() ([]driver.FloatCredit, error) { return f.tx.FindFloatCredits(ctx, reference, maxFound) }
	if f.companyID != uuid.Nil {
		find = func() ([]driver.FloatCredit, error) {
			return f.tx.FloatCredits(ctx, f.companyID, []string{reference})
		}
	}
	credits, err := find()
	if err != nil {
		return err
	}
	credits = slices.DeleteFunc(credits, func(c driver.FloatCredit) bool { return c.Sequence == 0 })
	if len(credits) == 0 {
		return nil
	}
	refs := make([]driver.EntryRef, len(credits))
	for i, credit := range credits {
		refs[i] = driver.EntryRef{
			WalletRef: driver.WalletRef{CompanyID: credit.CompanyID, Wallet: ledger.Float}, Sequence: credit.Sequence,
		}
	}
	entries, err := f.tx.Entries(ctx, refs) // They have the times.
	if err != nil {
		return err
	}
	for i, credit := range credits {
		f.add(FoundFunding, credit.CompanyID, uuid.Nil, credit.Reference, entries[i].At).Amount = &credit.Amount
	}
	return nil
}

// movement finds the movement that a wallet and a sequence name, such as "FLOAT 17" or "Earnings no. 3". Every company
// has such a movement, so it is found at one company only.
func (f *finder) movement(ctx context.Context, text string) error {
	if f.companyID == uuid.Nil || !f.sees(FoundMovement) {
		return nil
	}
	words := strings.Fields(strings.ToUpper(text))
	if len(words) == 3 && (words[1] == "NO." || words[1] == "NO") { // as the console shows it
		words = slices.Delete(words, 1, 2)
	}
	if len(words) != 2 {
		return nil
	}
	wallet := driver.WalletRef{CompanyID: f.companyID, Wallet: ledger.Wallet(words[0])}
	sequence, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || sequence < 1 || strconv.FormatInt(sequence, 10) != words[1] ||
		!slices.Contains(driver.WalletRefs(f.companyID), wallet) {
		return nil //nolint:nilerr // The text is not the name of a movement.
	}
	entry, err := firstRecord(f.tx.Entries(ctx, []driver.EntryRef{{WalletRef: wallet, Sequence: sequence}}))
	if err != nil || entry.Sequence == 0 {
		return err
	}
	one := f.add(FoundMovement, f.companyID, uuid.Nil, words[0]+" "+strconv.FormatInt(sequence, 10), entry.At)
	one.Status, one.Reference, one.Amount = optional(string(entry.Kind)), &entry.Reference, &entry.Amount
	return nil
}

func (f *finder) addCompanies(companies []driver.Company) {
	for _, company := range companies {
		f.add(FoundCompany, company.ID, company.ID, company.Name, company.CreatedAt).Status = optional(string(company.Status))
	}
}

func (f *finder) addEvents(events []driver.Event) {
	for _, event := range events {
		f.add(FoundEvent, event.CompanyID, event.ID, event.Title, event.CreatedAt).Status = optional(string(event.Status))
	}
}

// addOrders adds orders with the current titles of their events.
func (f *finder) addOrders(ctx context.Context, orders []driver.Order) error {
	if len(orders) == 0 {
		return nil
	}
	titles, err := eventTitles(ctx, f.tx, orders)
	if err != nil {
		return err
	}
	for _, order := range orders {
		one := f.add(FoundOrder, order.CompanyID, order.ID, titles[order.EventID], order.ConfirmedAt)
		one.Status, one.Email, one.Amount = optional(string(order.Status)), &order.BuyerEmail, &order.Gross
	}
	return nil
}

// addBuyers adds buyers. The zero record stands for somebody who is none.
func (f *finder) addBuyers(buyers []driver.Buyer) {
	for _, buyer := range buyers {
		if buyer.Email != "" {
			f.add(FoundBuyer, buyer.CompanyID, uuid.Nil, buyer.Fullname, buyer.CreatedAt).Email = &buyer.Email
		}
	}
}
