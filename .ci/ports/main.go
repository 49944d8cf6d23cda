// Command ports prints free ports of 127.0.0.1, as many as its argument says. It asks the system, and holds each until
// it has all of them, so that they differ.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
)

func main() {
	number := 1
	if len(os.Args) > 1 {
		var err error
		if number, err = strconv.Atoi(os.Args[1]); err != nil {
			log.Fatal(err)
		}
	}
	for range number {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		defer listener.Close()
		fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	}
}
