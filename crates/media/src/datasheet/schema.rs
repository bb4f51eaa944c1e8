//! The JSON Schema of part files.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;

use super::Part;

/// The JSON Schema of part files, for editors and other programs.
pub fn schema() -> serde_json::Value {
    let settings = SchemaSettings::draft07().with_transform(RecursiveTransform(without_null));
    let mut schema = settings.into_generator().into_root_schema_for::<Part>();
    // The title comes first, for people who open the file.
    let mut fields = serde_json::Map::new();
    fields.extend(schema.remove("$schema").map(|dialect| ("$schema".to_owned(), dialect)));
    fields.insert("title".into(), "A part of flashpager".into());
    if let serde_json::Value::Object(rest) = schema.into() {
        fields.extend(rest.into_iter().filter(|(key, _)| key != "title"));
    }
    fields.into()
}

/// Removes `null` from the types of a schema: TOML has no null, so an optional field is absent.
fn without_null(schema: &mut Schema) {
    use serde_json::Value;
    let null = |item: &Value| item == "null" || item.get("type").is_some_and(|of| of == "null");
    for list in ["anyOf", "type"] {
        let Some(Value::Array(items)) = schema.get_mut(list) else { continue };
        items.retain(|item| !null(item));
        if let [only] = items.as_slice() {
            let only = only.clone();
            schema.remove(list);
            match only {
                // Draft 7 ignores everything beside a reference.
                Value::Object(fields) if fields.contains_key("$ref") => {
                    schema.insert("allOf".into(), vec![Value::Object(fields)].into());
                }
                Value::Object(fields) => {
                    for (key, value) in fields {
                        schema.insert(key, value);
                    }
                }
                name => {
                    schema.insert(list.into(), name);
                }
            }
        }
    }
}
