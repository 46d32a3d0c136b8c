//! ALTER TABLE: names, and columns that come and go.

use datafusion_common::Result;
use datafusion_sql::sqlparser::ast::{AlterTable, AlterTableOperation, RenameTableNameKind};

use super::create::column_specs;
use super::planner::Planner;
use super::statement::{SqlStatement, TableChange, ident, name_of, refused};

/// Plans an ALTER TABLE.
pub(crate) fn alter_table(alter: &AlterTable, planner: &Planner<'_>) -> Result<SqlStatement> {
    let mut changes = Vec::new();
    for operation in &alter.operations {
        changes.extend(table_changes(operation, planner)?);
    }
    Ok(SqlStatement::AlterTable { table: name_of(&alter.name)?, if_exists: alter.if_exists, changes })
}

fn table_changes(operation: &AlterTableOperation, planner: &Planner<'_>) -> Result<Vec<TableChange>> {
    Ok(match operation {
        AlterTableOperation::RenameTable {
            table_name: RenameTableNameKind::To(name) | RenameTableNameKind::As(name),
        } => vec![TableChange::Rename(name_of(name)?)],
        AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
            vec![TableChange::RenameColumn(ident(old_column_name), ident(new_column_name))]
        }
        AlterTableOperation::AddColumn { column_def, if_not_exists, column_position: None, .. } => {
            let mut key = Vec::new();
            let specs = column_specs(std::slice::from_ref(column_def), planner, &mut key)?;
            if !key.is_empty() {
                return Err(refused("a column that is added cannot be the PRIMARY KEY"));
            }
            specs.into_iter().map(|spec| TableChange::AddColumn(spec, *if_not_exists)).collect()
        }
        AlterTableOperation::DropColumn { column_names, if_exists, .. } => {
            column_names.iter().map(|name| TableChange::DropColumn(ident(name), *if_exists)).collect()
        }
        other => {
            return Err(refused(&format!(
                "ALTER TABLE can RENAME TO, RENAME COLUMN, ADD COLUMN and DROP COLUMN, got: {other}"
            )));
        }
    })
}
