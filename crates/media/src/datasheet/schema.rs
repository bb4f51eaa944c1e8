//! The JSON Schema of part files.
//!
//! It is in `docs/part.schema.json`, where editors find it. A test makes it of the types, so that
//! the engine is compiled without what makes it.

/// The JSON Schema of part files, for editors and other programs.
///
/// # Panics
/// If the text is no JSON, which a test rules out.
pub fn schema() -> serde_json::Value {
    serde_json::from_str(include_str!("../../../../docs/part.schema.json"))
        .expect("a test reads the text")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::Schema;
    use schemars::generate::SchemaSettings;
    use schemars::transform::RecursiveTransform;
    use serde_json::Value;

    use crate::datasheet::Part;

    /// If this fails, `FLASHPAGER_UPDATE_SCHEMA=1 cargo test -p flashpager-media` writes the schema.
    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/part.schema.json");
        let text = format!("{:#}\n", schema_of_types());
        if std::env::var_os("FLASHPAGER_UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert!(std::fs::read_to_string(&path).unwrap() == text, "docs/part.schema.json is old");
        if std::env::var_os("FLASHPAGER_UPDATE_SCHEMA").is_none() {
            assert_eq!(super::schema(), schema_of_types());
        }
    }

    /// Makes the schema of [`Part`].
    fn schema_of_types() -> Value {
        let settings = SchemaSettings::draft07().with_transform(RecursiveTransform(without_null));
        let mut schema = settings.into_generator().into_root_schema_for::<Part>();
        // The title comes first, for people who open the file.
        let mut fields = serde_json::Map::new();
        fields.extend(schema.remove("$schema").map(|dialect| ("$schema".to_owned(), dialect)));
        fields.insert("title".into(), "A part of flashpager".into());
        if let Value::Object(rest) = schema.into() {
            fields.extend(rest.into_iter().filter(|(key, _)| key != "title"));
        }
        fields.into()
    }

    /// Removes `null` from the types of a schema: TOML has no null, so an optional field is absent.
    fn without_null(schema: &mut Schema) {
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
}
