// Command manifests checks Kubernetes manifests and a compose file by the types and the loader of
// their consumers. It is a separate module, so that these do not choose the versions in Mosey.
//
//	manifests compose FILE            # loads it as Docker Compose does, with each of its profiles
//	manifests kubernetes FILE...      # decodes each document, and refuses unknown and doubled fields
//
// It prints each error on a line of standard error, and then exits with code 1.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	strict "sigs.k8s.io/yaml"
)

func main() {
	if err := check(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "compose":
		return compose(args[1])
	case len(args) > 1 && args[0] == "kubernetes":
		var errs []error
		for _, name := range args[1:] {
			errs = append(errs, kubernetes(name))
		}
		return errors.Join(errs...)
	}
	return errors.New("want: compose FILE, or kubernetes FILE...")
}

// compose loads a file with its own defaults as the only environment.
func compose(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	options, err := cli.NewProjectOptions([]string{name}, cli.WithWorkingDirectory(filepath.Dir(name)), cli.WithProfiles([]string{"*"}))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, service := range project.ServiceNames() {
		fmt.Println(service)
	}
	return nil
}

// scaledObject holds the used fields of KEDA's type, because importing it adds 800 packages.
type scaledObject struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		PollingInterval int32 `json:"pollingInterval"`
		MinReplicaCount int32 `json:"minReplicaCount"`
		MaxReplicaCount int32 `json:"maxReplicaCount"`
		Fallback        struct {
			FailureThreshold int32 `json:"failureThreshold"`
			Replicas         int32 `json:"replicas"`
		} `json:"fallback"`
		Advanced struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type       string            `json:"type"`
			Name       string            `json:"name"`
			MetricType string            `json:"metricType"`
			Metadata   map[string]string `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// kinds maps the allowed kinds of a manifest.
func kinds() map[string]any {
	return map[string]any{
		"apps/v1 Deployment":                 new(appsv1.Deployment),
		"batch/v1 Job":                       new(batchv1.Job),
		"keda.sh/v1alpha1 ScaledObject":      new(scaledObject),
		"networking.k8s.io/v1 NetworkPolicy": new(networkingv1.NetworkPolicy),
		"policy/v1 PodDisruptionBudget":      new(policyv1.PodDisruptionBudget),
		"v1 ConfigMap":                       new(corev1.ConfigMap),
		"v1 Namespace":                       new(corev1.Namespace),
		"v1 Secret":                          new(corev1.Secret),
		"v1 Service":                         new(corev1.Service),
		"v1 ServiceAccount":                  new(corev1.ServiceAccount),
	}
}

func kubernetes(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var errs []error
	for documents, n := yaml.NewDecoder(bytes.NewReader(data)), 1; ; n++ {
		var document yaml.Node
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		} else if err != nil {
			return fmt.Errorf("%s: document %d: %w", name, n, err)
		}
		var head struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
		}
		if err := document.Decode(&head); err != nil {
			return fmt.Errorf("%s: document %d: %w", name, n, err)
		}
		into, known := kinds()[head.APIVersion+" "+head.Kind]
		if !known {
			errs = append(errs, fmt.Errorf("%s: document %d: %s %s is no kind that is known here", name, n, head.APIVersion, head.Kind))
			continue
		}
		text, err := yaml.Marshal(&document)
		if err == nil {
			err = strict.UnmarshalStrict(text, into)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: document %d: %s: %w", name, n, head.Kind, err))
		}
	}
}
