import type { NextConfig } from 'next';

export default { outputFileTracingRoot: import.meta.dirname } satisfies NextConfig;
