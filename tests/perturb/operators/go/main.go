// Deletes the data of a database that is being deleted, by the name in its cache, as stale_deletion.py does:
// zookeeper-operator 314, rabbitmq cluster-operator 648 (time travel). Standard library only.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	databases  = "/apis/example.com/v1/namespaces/default/databases"
	configMaps = "/api/v1/namespaces/default/configmaps"
	finalizer  = "example.com/data"
)

type metadata struct {
	Name              string   `json:"name"`
	UID               string   `json:"uid,omitempty"`
	ResourceVersion   string   `json:"resourceVersion,omitempty"`
	DeletionTimestamp string   `json:"deletionTimestamp,omitempty"`
	Finalizers        []string `json:"finalizers"`
}

type database struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   metadata        `json:"metadata"`
	Spec       json.RawMessage `json:"spec,omitempty"`
}

type client struct {
	server string
	http   *http.Client
}

// newClient reads the fields of a kubeconfig with one cluster and one user.
func newClient() *client {
	text, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	fields := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			fields[name] = value
		}
	}
	decode := func(name string) []byte {
		data, err := base64.StdEncoding.DecodeString(fields[name])
		if err != nil {
			log.Fatal(err)
		}
		return data
	}
	certificate, err := tls.X509KeyPair(decode("client-certificate-data"), decode("client-key-data"))
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(decode("certificate-authority-data"))
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	return &client{fields["server"], &http.Client{Transport: transport}}
}

// request returns the status and the body of an answer; an error for a status of 400 or more, except 404.
func (c *client) request(method, path string, body any) (int, []byte, error) {
	data, _ := json.Marshal(body)
	if body == nil {
		data = nil
	}
	request, _ := http.NewRequest(method, c.server+path, bytes.NewReader(data))
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 400 && response.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	return response.StatusCode, answer, err
}

// cache keeps the databases as an informer does: listed from the server's cache, then watched.
type cache struct {
	sync.Mutex
	objects map[string]database
	changed chan struct{}
}

func (c *cache) get(name string) (database, bool) {
	c.Lock()
	defer c.Unlock()
	found, ok := c.objects[name]
	return found, ok
}

func (c *cache) names() []string {
	c.Lock()
	defer c.Unlock()
	var names []string
	for name := range c.objects {
		names = append(names, name)
	}
	return names
}

func (c *cache) run(api *client) {
	version := ""
	for {
		var err error
		if version == "" {
			version, err = c.list(api)
		}
		if err == nil {
			version, err = c.watch(api, version)
		}
		if err != nil {
			log.Print(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (c *cache) list(api *client) (string, error) {
	_, body, err := api.request("GET", databases+"?resourceVersion=0", nil)
	if err != nil {
		return "", err
	}
	var listed struct {
		Metadata metadata   `json:"metadata"`
		Items    []database `json:"items"`
	}
	if err := json.Unmarshal(body, &listed); err != nil {
		return "", err
	}
	c.Lock()
	c.objects = map[string]database{}
	for _, one := range listed.Items {
		c.objects[one.Metadata.Name] = one
	}
	c.Unlock()
	c.notify()
	return listed.Metadata.ResourceVersion, nil
}

func (c *cache) watch(api *client, version string) (string, error) {
	response, err := api.http.Get(api.server + databases + "?watch=true&resourceVersion=" + version)
	if err != nil {
		return version, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("watch: %d", response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		var event struct {
			Type   string   `json:"type"`
			Object database `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || event.Type == "ERROR" {
			return "", fmt.Errorf("watch: %s", lines.Text())
		}
		version = event.Object.Metadata.ResourceVersion
		c.Lock()
		if event.Type == "DELETED" {
			delete(c.objects, event.Object.Metadata.Name)
		} else {
			c.objects[event.Object.Metadata.Name] = event.Object
		}
		c.Unlock()
		c.notify()
	}
	return version, lines.Err()
}

func (c *cache) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

type controller struct {
	api     *client
	cache   *cache
	isFixed bool
}

func (c *controller) reconcile(name string) error {
	current, found := c.cache.get(name)
	if c.isFixed {
		// The cache tells when to look; what is true, only the API server knows.
		status, body, err := c.api.request("GET", databases+"/"+name, nil)
		if err != nil {
			return err
		}
		current = database{}
		if found = status == http.StatusOK; found {
			if err := json.Unmarshal(body, &current); err != nil {
				return err
			}
		}
	}
	if !found {
		return nil
	}
	data := configMaps + "/" + name + "-data"
	hasFinalizer := len(current.Metadata.Finalizers) > 0
	switch {
	case current.Metadata.DeletionTimestamp != "":
		if _, _, err := c.api.request("DELETE", data, nil); err != nil || !hasFinalizer {
			return err
		}
		current.Metadata.Finalizers = []string{}
		_, _, err := c.api.request("PUT", databases+"/"+name, current)
		return err
	case !hasFinalizer:
		current.Metadata.Finalizers = []string{finalizer}
		_, _, err := c.api.request("PUT", databases+"/"+name, current)
		return err
	}
	status, _, err := c.api.request("GET", data, nil)
	if err != nil || status == http.StatusOK {
		return err
	}
	_, _, err = c.api.request("POST", configMaps, map[string]any{"metadata": map[string]any{"name": name + "-data"}})
	return err
}

func main() {
	api := newClient()
	objects := &cache{objects: map[string]database{}, changed: make(chan struct{}, 1)}
	c := &controller{api, objects, os.Getenv("OPERATOR") == "fixed"}
	go objects.run(api)
	for range objects.changed {
		for _, name := range objects.names() {
			if err := c.reconcile(name); err != nil {
				log.Print(err)
				time.AfterFunc(200*time.Millisecond, objects.notify)
			}
		}
	}
}
