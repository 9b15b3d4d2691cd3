// Lets identities pull images, and nothing else, from a registry of this resource group.
param registryName string
param principals array

var acrPull = subscriptionResourceId(
  'Microsoft.Authorization/roleDefinitions',
  '7f951dda-4ed3-4680-a7ca-43fe172d538d'
)

resource registry 'Microsoft.ContainerRegistry/registries@2023-07-01' existing = {
  name: registryName
}

resource pull 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in principals: {
    name: guid(registry.id, principal, acrPull)
    scope: registry
    properties: {
      roleDefinitionId: acrPull
      principalId: principal
      principalType: 'ServicePrincipal'
    }
  }
]
