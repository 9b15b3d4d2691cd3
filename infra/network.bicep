// A network in which the database has no public address.
param location string
param name string

resource network 'Microsoft.Network/virtualNetworks@2024-05-01' = {
  name: '${name}-network'
  location: location
  properties: {
    addressSpace: { addressPrefixes: ['10.60.0.0/16'] }
    subnets: [
      {
        name: 'apps'
        properties: {
          addressPrefix: '10.60.0.0/23'
          delegations: [
            {
              name: 'apps'
              properties: { serviceName: 'Microsoft.App/environments' }
            }
          ]
        }
      }
      {
        name: 'database'
        properties: {
          addressPrefix: '10.60.2.0/28'
          delegations: [
            {
              name: 'database'
              properties: { serviceName: 'Microsoft.DBforPostgreSQL/flexibleServers' }
            }
          ]
        }
      }
    ]
  }
}

resource zone 'Microsoft.Network/privateDnsZones@2020-06-01' = {
  name: '${name}.private.postgres.database.azure.com'
  location: 'global'
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01' = {
  parent: zone
  name: '${name}-network'
  location: 'global'
  properties: {
    registrationEnabled: false
    virtualNetwork: { id: network.id }
  }
}

output appsSubnetId string = network.properties.subnets[0].id
output databaseSubnetId string = network.properties.subnets[1].id
output databaseDnsZoneId string = zone.id
