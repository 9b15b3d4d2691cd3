// One of the two jobs. The service starts each execution with this template and the order in the container's env:
// FEATURE_URL, DATA_EXTRACTOR_URL, CONFIG, OPERATION_ID, MUCAST_STATUS_ATTEMPT, MUCAST_BLOB_SPACE, TRACEPARENT;
// of audits, replays and portable jobs MUCAST_OPERATION and MUCAST_OPTIONS too.
param location string
@allowed(['ml-worker-job', 'dl-job'])
param name string
param image string
@allowed(['run_ml_job', 'run_dl_job'])
param command string
@description('cpu as text, as Bicep has no decimals, and memory.')
param size object
param environmentId string
param identityId string
param identityClientId string
param registryServer string
param blobUrl string
param allowedBlobUrls array
@description('Seconds after which Azure ends an execution by itself.')
param replicaTimeout int
@description('Who may start, stop and read executions of this job.')
param operatorPrincipalId string
param operatorRoleId string

resource job 'Microsoft.App/jobs@2024-03-01' = {
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
      triggerType: 'Manual'
      manualTriggerConfig: { parallelism: 1, replicaCompletionCount: 1 }
      replicaTimeout: replicaTimeout
      // A lost attempt is tried again by the service, as an attempt of its own.
      replicaRetryLimit: 0
      registries: [{ server: registryServer, identity: identityId }]
    }
    template: {
      containers: [
        {
          name: name
          image: image
          args: [command, '--log', 'json']
          env: [
            { name: 'BLOB_URL', value: blobUrl }
            { name: 'MUCAST_ALLOWED_BLOB_URLS', value: join(concat([blobUrl], allowedBlobUrls), ' ') }
            { name: 'AZURE_CLIENT_ID', value: identityClientId }
          ]
          resources: { cpu: json(size.cpu), memory: size.memory }
        }
      ]
    }
  }
}

resource operator 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(job.id, operatorPrincipalId, operatorRoleId)
  scope: job
  properties: {
    roleDefinitionId: operatorRoleId
    principalId: operatorPrincipalId
    principalType: 'ServicePrincipal'
  }
}
