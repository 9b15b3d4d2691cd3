// PostgreSQL for operations, events and the queue; small, as it holds no blobs.
param location string
param name string
param subnetId string
param dnsZoneId string
@secure()
param password string

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2024-08-01' = {
  name: '${name}-${uniqueString(resourceGroup().id)}'
  location: location
  sku: { name: 'Standard_B1ms', tier: 'Burstable' }
  properties: {
    version: '16'
    administratorLogin: 'mucast'
    administratorLoginPassword: password
    storage: { storageSizeGB: 32, autoGrow: 'Enabled' }
    backup: { backupRetentionDays: 7, geoRedundantBackup: 'Disabled' }
    highAvailability: { mode: 'Disabled' }
    network: {
      delegatedSubnetResourceId: subnetId
      privateDnsZoneArmResourceId: dnsZoneId
    }
  }
}

resource database 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2024-08-01' = {
  parent: server
  name: 'mucast'
  properties: { charset: 'UTF8', collation: 'en_US.utf8' }
}

output host string = server.properties.fullyQualifiedDomainName
