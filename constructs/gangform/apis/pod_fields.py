"""Fields of pod specs, Services, budgets and autoscalers, to know a misspelt one by.

Read in the API of Kubernetes 1.37, with those of older releases that are still met. Types are not looked at here: a
line without one says nothing about the value. What a release brings later is missing, so that a field is judged only
where its name is nearly one of these.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Final

from gangform.apis.keys import APPS, AUTOSCALING, POLICY
from gangform.documents.document import group_of


def _level(*names: str, **below: str) -> str:
    """Fields in the words of `structure`; `below` are those with fields of their own, `_list` for lists of maps."""
    lines = [*" ".join(names).split()]
    for name, text in below.items():
        field = name.removesuffix("_list") + ("[]" if name.endswith("_list") else "")
        lines.append(f"{field}\n{textwrap.indent(text, '  ')}")
    return "\n".join(lines)


_PROBE: Final = _level(
    "initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold",
    "terminationGracePeriodSeconds",
    exec=_level("command"),
    httpGet=_level("path port host scheme httpHeaders protocol"),
    tcpSocket=_level("port host"),
    grpc=_level("port service mode"),
)
_HOOK: Final = _level(
    exec=_level("command"),
    httpGet=_level("path port host scheme httpHeaders protocol"),
    tcpSocket=_level("port host"),
    sleep=_level("seconds"),
)
_SECURITY: Final = (
    "seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot seccompProfile appArmorProfile"
)
_VARIABLE: Final = _level(
    "name value",
    valueFrom=_level(
        fieldRef=_level("apiVersion fieldPath"),
        resourceFieldRef=_level("containerName resource divisor"),
        configMapKeyRef=_level("name key optional"),
        secretKeyRef=_level("name key optional"),
        fileKeyRef=_level("volumeName path key optional"),
    ),
)
_CONTAINER: Final = _level(
    "name image command args workingDir resizePolicy restartPolicy restartPolicyRules",
    "volumeDevices terminationMessagePath terminationMessagePolicy imagePullPolicy stdin",
    "stdinOnce tty targetContainerName",
    ports_list=_level("name hostPort containerPort protocol hostIP"),
    env_list=_VARIABLE,
    envFrom_list=_level("prefix configMapRef secretRef"),
    resources=_level("limits requests claims"),
    volumeMounts_list=_level(
        "name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr",
        "bindMountOptions",
    ),
    startupProbe=_PROBE,
    readinessProbe=_PROBE,
    livenessProbe=_PROBE,
    lifecycle=_level("stopSignal", postStart=_HOOK, preStop=_HOOK),
    securityContext=_level(
        _SECURITY,
        "capabilities privileged readOnlyRootFilesystem allowPrivilegeEscalation procMount",
    ),
)
_VOLUME: Final = _level(
    "name gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs rbd flexVolume",
    "cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume quobyte azureDisk",
    "photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral image",
    hostPath=_level("path type"),
    emptyDir=_level("medium sizeLimit mode"),
    persistentVolumeClaim=_level("claimName readOnly"),
)
_TERMS: Final = (
    "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution"
)
POD: Final = _level(
    "restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector",
    "serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID",
    "hostIPC hostUsers shareProcessNamespace imagePullSecrets hostname hostnameOverride subdomain",
    "schedulerName hostAliases priorityClassName priority dnsConfig readinessGates",
    "runtimeClassName enableServiceLinks preemptionPolicy overhead setHostnameAsFQDN os",
    "schedulingGates resourceClaims workloadRef schedulingGroup evictionResponders",
    containers_list=_CONTAINER,
    initContainers_list=_CONTAINER,
    ephemeralContainers_list=_CONTAINER,
    volumes_list=_VOLUME,
    resources=_level("limits requests claims"),
    affinity=_level(
        nodeAffinity=_level(_TERMS),
        podAffinity=_level(_TERMS),
        podAntiAffinity=_level(_TERMS),
    ),
    tolerations_list=_level("key operator value effect tolerationSeconds"),
    topologySpreadConstraints_list=_level(
        "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy",
        "nodeTaintsPolicy matchLabelKeys",
    ),
    securityContext=_level(
        _SECURITY,
        "supplementalGroups supplementalGroupsPolicy fsGroup fsGroupChangePolicy sysctls",
        "seLinuxChangePolicy",
    ),
)
"""The spec of a pod."""
SPECS: Final[Mapping[tuple[str, str], str]] = {
    ("", "Service"): _level(
        "selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP",
        "loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort",
        "publishNotReadyAddresses sessionAffinityConfig ipFamilies ipFamilyPolicy",
        "allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy",
        "trafficDistribution topologyKeys ipFamily",
        ports_list=_level("name protocol appProtocol port targetPort nodePort"),
    ),
    (group_of(POLICY), "PodDisruptionBudget"): _level(
        "minAvailable maxUnavailable unhealthyPodEvictionPolicy",
        selector=_level("matchLabels matchExpressions"),
    ),
    (group_of(AUTOSCALING), "HorizontalPodAutoscaler"): _level(
        "minReplicas maxReplicas metrics targetCPUUtilizationPercentage",
        scaleTargetRef=_level("apiVersion kind name"),
        behavior=_level("scaleUp scaleDown"),
    ),
    (group_of(APPS), "Deployment"): _level(
        "replicas template strategy minReadySeconds revisionHistoryLimit paused",
        "progressDeadlineSeconds",
        selector=_level("matchLabels matchExpressions"),
    ),
    (group_of(APPS), "StatefulSet"): _level(
        "replicas template volumeClaimTemplates serviceName podManagementPolicy updateStrategy",
        "revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals",
        selector=_level("matchLabels matchExpressions"),
    ),
}
"""The specs of kinds whose fields are listed nowhere else, by group and kind."""
