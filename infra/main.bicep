// mucast on Azure Container Apps: the service as an app, run_ml_job and run_dl_job as jobs, blobs in a container,
// operations in PostgreSQL. docs/deploying.md says how it is deployed and what was not tried.
targetScope = 'resourceGroup'

@description('Region of everything.')
param location string = resourceGroup().location

@description('Begins the names of resources; 3 to 11 lower-case letters and digits.')
@minLength(3)
@maxLength(11)
param name string = 'mucast'

@description('Name of an Azure Container Registry in this resource group that holds the images.')
param registryName string

@description('Tag of the images mucast-ml and mucast-dl-cpu in that registry; one that is never moved.')
param imageTag string

@description('How callers authenticate. Without authentication, the service refuses to start here.')
@allowed(['keys', 'oidc'])
param auth string = 'keys'

@description('Issuer of tokens; needed with oidc.')
param oidcIssuer string = ''

@description('Value that the aud of a token must contain; needed with oidc.')
param oidcAudience string = ''

@description('Password of the database. Letters, digits, - and _ need no quoting in a shell.')
@secure()
@minLength(20)
param databasePassword string

@description('https URLs of further containers that inputs may be read from; mucast-jobs needs a role on each. The own container is always allowed.')
param allowedBlobUrls array = []

@description('Settings file of the service as JSON, for settings without a parameter. Empty: none.')
@secure()
param settingsFile string = ''

@description('Longest time an attempt at a job may run, in seconds; the service ends it then.')
param jobSeconds int = 43200

@description('Jobs that run at the same time, in all.')
param concurrentJobs int = 10

@description('Number of instances of the service, which share the queue.')
@minValue(1)
param replicas int = 1

@description('Cores and memory of run_ml_job; Container Apps pairs 2 GiB with a core.')
param mlSize object = { cpu: '2.0', memory: '4Gi' }

@description('Cores and memory of run_dl_job.')
param dlSize object = { cpu: '4.0', memory: '8Gi' }

@description('Days that logs are kept.')
param logDays int = 30

var jobNames = ['ml-worker-job', 'dl-job']
var registryServer = '${registryName}${az.environment().suffixes.acrLoginServer}'

resource serviceIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: '${name}-service'
  location: location
}

resource jobIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: '${name}-jobs'
  location: location
}

module pull 'registry-pull.bicep' = {
  name: 'registry-pull'
  params: {
    registryName: registryName
    principals: [serviceIdentity.properties.principalId, jobIdentity.properties.principalId]
  }
}

module storage 'storage.bicep' = {
  name: 'storage'
  params: {
    location: location
    name: name
    principals: [serviceIdentity.properties.principalId, jobIdentity.properties.principalId]
  }
}

module network 'network.bicep' = {
  name: 'network'
  params: { location: location, name: name }
}

module database 'database.bicep' = {
  name: 'database'
  params: {
    location: location
    name: name
    subnetId: network.outputs.databaseSubnetId
    dnsZoneId: network.outputs.databaseDnsZoneId
    password: databasePassword
  }
}

module environment 'environment.bicep' = {
  name: 'environment'
  params: { location: location, name: name, subnetId: network.outputs.appsSubnetId, logDays: logDays }
}

resource jobOperator 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(resourceGroup().id, name, 'job-operator')
  properties: {
    roleName: '${name} job operator (${uniqueString(resourceGroup().id)})'
    description: 'Starts, stops and reads executions of Container Apps jobs, and changes nothing.'
    type: 'CustomRole'
    assignableScopes: [resourceGroup().id]
    permissions: [
      {
        actions: [
          'Microsoft.App/jobs/read'
          'Microsoft.App/jobs/start/action'
          'Microsoft.App/jobs/stop/execution/action'
          'Microsoft.App/jobs/execution/read'
          'Microsoft.App/jobs/executions/read'
        ]
      }
    ]
  }
}

module jobs 'job.bicep' = [
  for job in jobNames: {
    name: job
    dependsOn: [pull]
    params: {
      location: location
      name: job
      image: '${registryServer}/${job == 'dl-job' ? 'mucast-dl-cpu' : 'mucast-ml'}:${imageTag}'
      command: job == 'dl-job' ? 'run_dl_job' : 'run_ml_job'
      size: job == 'dl-job' ? dlSize : mlSize
      environmentId: environment.outputs.id
      identityId: jobIdentity.id
      identityClientId: jobIdentity.properties.clientId
      registryServer: registryServer
      blobUrl: storage.outputs.blobUrl
      allowedBlobUrls: allowedBlobUrls
      // The service ends a job at its limit; this is for a service that is away.
      replicaTimeout: jobSeconds + 3600
      operatorPrincipalId: serviceIdentity.properties.principalId
      operatorRoleId: jobOperator.id
    }
  }
]

module service 'service.bicep' = {
  name: 'service'
  dependsOn: [pull, jobs]
  params: {
    location: location
    name: name
    image: '${registryServer}/mucast-ml:${imageTag}'
    environmentId: environment.outputs.id
    environmentDomain: environment.outputs.defaultDomain
    identityId: serviceIdentity.id
    identityClientId: serviceIdentity.properties.clientId
    registryServer: registryServer
    blobUrl: storage.outputs.blobUrl
    allowedBlobUrls: allowedBlobUrls
    databaseHost: database.outputs.host
    databasePassword: databasePassword
    settingsFile: settingsFile
    auth: auth
    oidcIssuer: oidcIssuer
    oidcAudience: oidcAudience
    jobSeconds: jobSeconds
    concurrentJobs: concurrentJobs
    replicas: replicas
  }
}

@description('Where the service answers.')
output url string = service.outputs.url

@description('Where blobs are: {blob_url} of payloads and results.')
output blobUrl string = storage.outputs.blobUrl
