// Command hello is what the test of the build builds.
package main

import "fmt"

func main() {
	fmt.Println("hello")
}
