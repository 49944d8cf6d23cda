package money_test

import (
	"encoding/json"
	"fmt"

	"github.com/floatgate/ticketing/money"
)

func Example() {
	gross, err := money.Parse("1234.60")
	if err != nil {
		fmt.Println(err)
		return
	}
	rate, err := money.ParseRate("2.50", money.Percent)
	if err != nil {
		fmt.Println(err)
		return
	}
	commission := rate.Of(gross)
	fmt.Printf("%s %s of %s is %s\n", rate.Value(), rate.Unit(), gross, commission)

	object, err := json.Marshal(commission)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(object))
	// Output:
	// 2.5 PERCENT of 1234.60 is 30.87
	// {"amount":"30.87","currency":"NGN"}
}

func ExampleParse() {
	for _, input := range []string{"10", "10.5", "1e3"} {
		amount, err := money.Parse(input)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(amount)
	}
	// Output:
	// 10.00
	// 10.50
	// must be a plain decimal from 0 to 999999999999.99 with at most two fractional digits
}

func ExampleAmount_Add() {
	balance, ok := money.Amount(10_000).Add(-2_550)
	fmt.Println(balance, ok)
	_, ok = money.MaxBalance.Add(1)
	fmt.Println(ok)
	// Output:
	// 74.50 true
	// false
}
