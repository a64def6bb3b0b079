package db

// What tests of migrations need: programs that know other files.
var (
	Files        = files
	MigrateFiles = migrate
	SchemaFiles  = schemaOf
)
