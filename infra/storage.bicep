// One private container for inputs, outputs and status blobs; by identity alone, no keys.
param location string
param name string
@description('Who may read and write blobs of the container.')
param principals array

var blobDataContributor = subscriptionResourceId(
  'Microsoft.Authorization/roleDefinitions',
  'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
)

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: '${name}${uniqueString(resourceGroup().id)}'
  location: location
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    allowBlobPublicAccess: false
    allowSharedKeyAccess: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2023-05-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: { enabled: true, days: 7 }
  }
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2023-05-01' = {
  parent: blobs
  name: 'forecasts'
  properties: { publicAccess: 'None' }
}

resource access 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in principals: {
    name: guid(container.id, principal, blobDataContributor)
    scope: container
    properties: {
      roleDefinitionId: blobDataContributor
      principalId: principal
      principalType: 'ServicePrincipal'
    }
  }
]

output blobUrl string = '${account.properties.primaryEndpoints.blob}${container.name}'
