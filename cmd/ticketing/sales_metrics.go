package main

import "github.com/prometheus/client_golang/prometheus"

// salesMetrics are the metrics of what this server sold. They name no company. The service measures them itself, see
// [meters].
type salesMetrics struct {
	orders     prometheus.Counter
	admissions prometheus.Counter
	gross      prometheus.Counter
	commission prometheus.Counter
}

func newSalesMetrics(registry *prometheus.Registry) *salesMetrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		registry.MustRegister(c)
		return c
	}
	return &salesMetrics{
		orders:     counter("ticketing_sales_orders_total", "Orders that this server's checkouts made."),
		admissions: counter("ticketing_sales_admissions_total", "Admissions that this server's checkouts sold."),
		gross: counter("ticketing_sales_gross_kobo_total",
			"What the orders of this server's checkouts cost in all, in kobo."),
		commission: counter("ticketing_sales_commission_kobo_total",
			"The commission on the orders of this server's checkouts, in kobo."),
	}
}
