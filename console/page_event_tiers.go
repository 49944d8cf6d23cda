package console

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
	"github.com/floatgate/ticketing/money"
)

// tierActs returns the acts about what an event sells.
func tierActs() []act {
	of := func(name, path, done string) act {
		return act{
			name: name, scope: scopeCompany, path: path, page: eventPath, grant: ticketing.GrantInventoryManage, done: done,
		}
	}
	return []act{
		newAct(of("inventory.create", eventPath+"/tiers/add", "The tickets were added."), readBatch,
			onDataPlane(createBatch)),
		newAct(of("inventory.price", tierPath+"/price", "The price of the unsold tickets was changed."), readPrice,
			onDataPlane(changePrice)),
		newAct(of("inventory.pause", tierPath+"/pause", "The unsold tickets are paused."), noMembers,
			onDataPlane(setTierStatus(ticketing.InventoryPaused))),
		newAct(of("inventory.resume", tierPath+"/resume", "The unsold tickets are on sale."), noMembers,
			onDataPlane(setTierStatus(ticketing.InventoryAvailable))),
		newAct(of("inventory.cancel", tierPath+"/cancel", "The unsold tickets are cancelled. Sold tickets stay valid."),
			readConfirmed, onDataPlane(cancelTier)),
	}
}

// newBatch are the members of a batch with its idempotency key.
type newBatch struct {
	key    string
	params ticketing.CreateInventoryParams
}

func readBatch(m *members) newBatch {
	return newBatch{key: m.text("idempotencyKey"), params: ticketing.CreateInventoryParams{
		Tier: m.text("tier"), Title: m.text("title"), Description: m.optionalText("description"),
		UnitPrice: m.amount("unitPrice"), Currency: money.Currency, IsFree: m.boolean("isFree"),
		Quantity: m.integer("quantity"), Status: enum[ticketing.InventoryStatus](m, "status"),
	}}
}

// integer reads a required integer. In a form it may have commas and spaces.
func (m *members) integer(name string) int {
	if m.object != nil {
		return strictjson.Required(m.object, name, strictjson.Integer)
	}
	return parsed(m, name, func(text string) (int, error) {
		n, err := strconv.Atoi(strings.NewReplacer(",", "", " ", "", "\u00a0", "").Replace(text))
		if err != nil {
			return 0, errors.New("must be a whole number")
		}
		return n, nil
	})
}

func createBatch(ctx context.Context, c *call, p newBatch) (outcome, error) {
	tier, err := runKeyed(ctx, "the batch", func() (ticketing.InventoryTier, error) {
		return c.console.svc.CreateInventory(ctx, c.caller, c.pathID("eventId"), p.key, p.params)
	})
	return outcome{data: tier}, err
}

// newPrice are the members of a change of price. The currency is that of the platform.
type newPrice struct {
	price money.Amount
	free  bool
}

func readPrice(m *members) newPrice { return newPrice{m.amount("unitPrice"), m.boolean("isFree")} }

func changePrice(ctx context.Context, c *call, p newPrice) (outcome, error) {
	return changeTier(ctx, c, ticketing.UpdateInventoryParams{
		UnitPrice: &p.price, Currency: new(money.Currency), IsFree: &p.free,
	})
}

// setTierStatus returns a function that puts the unsold tickets of a tier on sale, or pauses them.
func setTierStatus(status ticketing.InventoryStatus) func(context.Context, *call, none) (outcome, error) {
	return func(ctx context.Context, c *call, _ none) (outcome, error) {
		return changeTier(ctx, c, ticketing.UpdateInventoryParams{Status: &status})
	}
}

func changeTier(ctx context.Context, c *call, params ticketing.UpdateInventoryParams) (outcome, error) {
	tier, err := c.console.svc.UpdateInventory(ctx, c.caller, c.pathID("eventId"), c.path("tier"), params)
	return outcome{data: tier}, err
}

func cancelTier(ctx context.Context, c *call, _ none) (outcome, error) {
	tier, err := c.console.svc.CancelInventory(ctx, c.caller, c.pathID("eventId"), c.path("tier"))
	return outcome{data: tier}, err
}
