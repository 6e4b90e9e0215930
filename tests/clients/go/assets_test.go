// Package assets tests the executables of `mockkube assets` as a Go test suite uses them: started the way
// controller-runtime's envtest starts etcd and kube-apiserver, called by Go's own HTTP and TLS.
// It needs the standard library only. KUBEBUILDER_ASSETS names the directory of the executables.
package assets

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

const startTimeout = 60 * time.Second

type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newAuthority(name string) *authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return &authority{key, must(x509.ParseCertificate(der))}
}

// issue returns certificate and key in PEM form.
func (a *authority) issue(subject pkix.Name, usage x509.ExtKeyUsage) (certificate, key []byte) {
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{usage},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:     []string{"localhost"},
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key))
	encoded := must(x509.MarshalPKCS8PrivateKey(private))
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", encoded)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

type process struct {
	command *exec.Cmd
	done    chan error
}

// start runs an executable in a process group of its own and waits until the URL answers with 200.
func start(t *testing.T, url, name string, arguments ...string) *process {
	t.Helper()
	command := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name), arguments...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	started := &process{command, make(chan error, 1)}
	go func() { started.done <- command.Wait() }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
		if answer, err := client.Get(url); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return started
			}
		}
		select {
		case err := <-started.done:
			t.Fatalf("%s ended: %v\n%s", name, err, output.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not become healthy", name)
		}
	}
}

func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(-p.command.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(startTimeout):
		t.Fatal("the process does not end")
	}
}

type api struct {
	t      *testing.T
	client *http.Client
	url    string
}

// call returns the code and the decoded body of an answer, which must come over HTTP/2.
func (a *api) call(method, path string, body any) (int, map[string]any) {
	a.t.Helper()
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(must(json.Marshal(body)))
	}
	request := must(http.NewRequest(method, a.url+path, content))
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.client.Do(request)
	if err != nil {
		a.t.Error(err)
		return 0, nil
	}
	defer answer.Body.Close()
	if answer.Proto != "HTTP/2.0" {
		a.t.Errorf("answered over %s", answer.Proto)
	}
	var decoded map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&decoded); err != nil {
		a.t.Error(err)
	}
	return answer.StatusCode, decoded
}

func configMap(name string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name}}
}

func freePort() int {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func TestControlPlane(t *testing.T) {
	directory := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, content, 0o640); err != nil {
			t.Fatal(err)
		}
		return path
	}
	serving, clients, signer := newAuthority("serving-ca"), newAuthority("client-ca"), newAuthority("signer")
	certificate, key := serving.issue(pkix.Name{CommonName: "localhost"}, x509.ExtKeyUsageServerAuth)
	file("apiserver.crt", certificate)
	file("apiserver.key", key)
	clientAuthority := file("client-ca.crt", encode("CERTIFICATE", clients.certificate.Raw))
	signerCertificate := file("sa-signer.crt", encode("CERTIFICATE", signer.certificate.Raw))
	signerKey := file("sa-signer.key", encode("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(signer.key))))

	help := must(exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-apiserver"), "--help").CombinedOutput())
	if regexp.MustCompile(`(?m)^\s*--insecure-port\b`).Match(help) {
		t.Error("--help lists --insecure-port, which envtest would then set")
	}

	etcdURL := fmt.Sprintf("http://127.0.0.1:%d", freePort())
	etcd := start(t, etcdURL+"/health", "etcd",
		"--advertise-client-urls="+etcdURL, "--data-dir="+directory+"/data",
		"--listen-client-urls="+etcdURL, "--listen-peer-urls=http://localhost:0", "--unsafe-no-fsync=true")
	url := fmt.Sprintf("https://127.0.0.1:%d", freePort())
	server := start(t, url+"/healthz", "kube-apiserver",
		"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir="+directory,
		"--client-ca-file="+clientAuthority, "--disable-admission-plugins=ServiceAccount", "--etcd-servers="+etcdURL,
		"--secure-port="+url[len("https://127.0.0.1:"):], "--service-account-issuer="+url+"/",
		"--service-account-key-file="+signerCertificate, "--service-account-signing-key-file="+signerKey,
		"--service-cluster-ip-range=10.0.0.0/24")

	admin := must(tls.X509KeyPair(clients.issue(
		pkix.Name{CommonName: "default", Organization: []string{"system:masters"}}, x509.ExtKeyUsageClientAuth)))
	roots := x509.NewCertPool()
	roots.AddCert(serving.certificate)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin}},
		ForceAttemptHTTP2: true,
	}
	client := &api{t, &http.Client{Transport: transport}, url}
	const configMaps = "/api/v1/namespaces/default/configmaps"

	t.Run("watches share a connection with writes", func(t *testing.T) {
		client := &api{t, client.client, url}
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		const watches, objects = 20, 30
		var ready, group sync.WaitGroup
		for range watches {
			ready.Add(1)
			group.Add(1)
			go func() {
				defer group.Done()
				request := must(http.NewRequestWithContext(ctx, "GET", url+configMaps+"?watch=true&labelSelector=x=y", nil))
				answer, err := client.client.Do(request)
				ready.Done()
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				lines, seen := bufio.NewScanner(answer.Body), 0
				for seen < objects && lines.Scan() {
					seen++
				}
				if seen != objects {
					t.Errorf("%d of %d events: %v", seen, objects, lines.Err())
				}
			}()
		}
		ready.Wait()
		for index := range objects {
			object := map[string]any{"metadata": map[string]any{
				"name": fmt.Sprintf("w%d", index), "labels": map[string]any{"x": "y"}}}
			if code, answer := client.call("POST", configMaps, object); code != http.StatusCreated {
				t.Fatal(answer)
			}
		}
		group.Wait()
	})

	t.Run("writers at the same time conflict as they should", func(t *testing.T) {
		client := &api{t, client.client, url}
		var group sync.WaitGroup
		codes := make(chan int, 16)
		for range cap(codes) {
			group.Add(1)
			go func() {
				defer group.Done()
				code, _ := client.call("POST", configMaps, configMap("once"))
				codes <- code
			}()
		}
		group.Wait()
		close(codes)
		created := 0
		for code := range codes {
			if code == http.StatusCreated {
				created++
			} else if code != http.StatusConflict {
				t.Errorf("answered %d", code)
			}
		}
		if created != 1 {
			t.Errorf("%d writers have created the same object", created)
		}
	})

	t.Run("large bodies", func(t *testing.T) {
		client := &api{t, client.client, url}
		object := configMap("large")
		object["data"] = map[string]any{"key": string(bytes.Repeat([]byte("x"), 900_000))}
		if code, _ := client.call("POST", configMaps, object); code != http.StatusCreated {
			t.Errorf("answered %d", code)
		}
		_, answer := client.call("GET", configMaps+"/large", nil)
		if data, _ := answer["data"].(map[string]any); len(data["key"].(string)) != 900_000 {
			t.Error("the object comes back shorter")
		}
	})

	server.stop(t)
	etcd.stop(t)
}
