// The service as a container app: HTTP and MCP, the queue, and the starting of jobs.
param location string
param name string
param image string
param environmentId string
param environmentDomain string
param identityId string
param identityClientId string
param registryServer string
param blobUrl string
param allowedBlobUrls array
param databaseHost string
@secure()
param databasePassword string
@secure()
param settingsFile string
param auth string
param oidcIssuer string
param oidcAudience string
param jobSeconds int
param concurrentJobs int
param replicas int

var port = 8080
var url = 'https://${name}.${environmentDomain}'
var databaseUrl = 'postgresql://mucast:${uriComponent(databasePassword)}@${databaseHost}:5432/mucast?sslmode=verify-full'
var hasSettingsFile = !empty(settingsFile)

var oidcNames = [
  { name: 'MUCAST_OIDC_ISSUER', value: oidcIssuer }
  { name: 'MUCAST_OIDC_AUDIENCE', value: oidcAudience }
]
var oidcEnv = auth == 'oidc' ? oidcNames : []
var fileEnv = hasSettingsFile ? [{ name: 'MUCAST_SETTINGS', value: '/etc/mucast/settings.json' }] : []
var fileSecret = hasSettingsFile ? [{ name: 'settings', value: settingsFile }] : []
var fileMount = hasSettingsFile ? [{ volumeName: 'settings', mountPath: '/etc/mucast' }] : []
var settingsVolume = {
  name: 'settings'
  storageType: 'Secret'
  secrets: [{ secretRef: 'settings', path: 'settings.json' }]
}
var ownEnv = [
  { name: 'MUCAST_HOST', value: '0.0.0.0' }
  { name: 'MUCAST_PORT', value: string(port) }
  { name: 'MUCAST_PUBLIC_URL', value: url }
  { name: 'MUCAST_AUTH', value: auth }
  { name: 'BLOB_URL', value: blobUrl }
  { name: 'MUCAST_ALLOWED_BLOB_URLS', value: join(concat([blobUrl], allowedBlobUrls), ' ') }
  { name: 'DATABASE_URL', secretRef: 'database-url' }
  { name: 'MUCAST_EXECUTOR', value: 'container-apps' }
  { name: 'MUCAST_AZURE_SUBSCRIPTION', value: subscription().subscriptionId }
  { name: 'MUCAST_AZURE_RESOURCE_GROUP', value: resourceGroup().name }
  { name: 'MUCAST_JOB_SECONDS', value: string(jobSeconds) }
  { name: 'MUCAST_CONCURRENT_JOBS', value: string(concurrentJobs) }
  // Each draws a report or prepares a price CSV within 512 MiB, beside the service itself.
  { name: 'MUCAST_REQUEST_PROCESSES', value: '1' }
  { name: 'AZURE_CLIENT_ID', value: identityClientId }
]

resource service 'Microsoft.App/containerApps@2024-03-01' = {
  name: name
  location: location
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    environmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      ingress: { external: true, targetPort: port, transport: 'auto', allowInsecure: false }
      registries: [{ server: registryServer, identity: identityId }]
      secrets: concat([{ name: 'database-url', value: databaseUrl }], fileSecret)
    }
    template: {
      // More than drain_seconds.
      terminationGracePeriodSeconds: 60
      containers: [
        {
          name: name
          image: image
          args: ['serve']
          env: concat(ownEnv, oidcEnv, fileEnv)
          resources: { cpu: json('0.5'), memory: '1Gi' }
          volumeMounts: fileMount
          probes: [
            {
              type: 'Startup'
              httpGet: { path: '/healthz', port: port }
              // As long as in Kubernetes, 10 minutes, because the first start of a version migrates the database. Azure allows
              // 10 failures and periods of 240 s at most; a service that starts in seconds passes the first probe.
              initialDelaySeconds: 10
              periodSeconds: 60
              timeoutSeconds: 5
              failureThreshold: 10
            }
            {
              type: 'Liveness'
              httpGet: { path: '/healthz', port: port }
              periodSeconds: 15
              timeoutSeconds: 5
            }
            {
              type: 'Readiness'
              httpGet: { path: '/readyz', port: port }
              periodSeconds: 10
              timeoutSeconds: 5
            }
          ]
        }
      ]
      volumes: hasSettingsFile ? [settingsVolume] : []
      scale: { minReplicas: replicas, maxReplicas: replicas }
    }
  }
}

output url string = url
