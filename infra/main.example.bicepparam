// Copy it, fill it in, and keep secrets out of it: these come from the environment.
using 'main.bicep'

param registryName = 'myregistry'
param imageTag = '0.2.0'
param auth = 'keys'
param databasePassword = readEnvironmentVariable('MUCAST_DATABASE_PASSWORD')
