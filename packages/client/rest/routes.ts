/**
 * The endpoints of the API by the parts of their paths, `{}` for a parameter, then by method. There
 * are none in the repository: the build puts those of the OpenAPI document in place of this type
 * (bin/build/declarations.ts), so that the declarations of the package know them.
 */
export type Routes = Readonly<Record<never, never>>;
