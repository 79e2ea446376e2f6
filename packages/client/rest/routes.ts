/**
 * The endpoints of the API by the parts of their paths, `{}` for a parameter, then by method. The
 * repository has none: the build replaces this type with those of the OpenAPI document
 * (bin/build/declarations.ts), so that the declarations of the package know them.
 */
export type Routes = Readonly<Record<never, never>>;
