import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** PEM files. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsTexts {
  readonly cert: string;
  readonly key: string;
  readonly subject: string;
  /** The end of the certificate's validity, as OpenSSL writes it. */
  readonly validTo: string;
}

/**
 * Throws an Error of one line that names the variable, the file and the problem; the TLS library
 * would only report that it cannot serve them.
 */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): TlsTexts {
  const cert = { label: `PARLEY_TLS_CERT ${certFile}`, text: readText('PARLEY_TLS_CERT', certFile) };
  const key = { label: `PARLEY_TLS_KEY ${keyFile}`, text: readText('PARLEY_TLS_KEY', keyFile) };
  if (!CERTIFICATE.test(cert.text) && CERTIFICATE.test(key.text) && PRIVATE_KEY.test(cert.text)) {
    throw new Error(
      `PARLEY_TLS_CERT (${certFile}) is a private key and PARLEY_TLS_KEY (${keyFile}) a certificate: swap them`,
    );
  }
  const certificate = parseCertificate(cert.label, cert.text);
  const privateKey = parsePrivateKey(key.label, key.text);
  const subject = certificate.subject.replaceAll('\n', ', ');
  if (certificate.checkPrivateKey(privateKey)) {
    return { cert: cert.text, key: key.text, subject, validTo: certificate.validTo };
  }
  throw new Error(
    `${key.label} does not belong to the certificate ${certFile} (${subject}): the first certificate of that file must be the one that was issued for this key`,
  );
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

function readText(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${variable} ${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function parseCertificate(name: string, text: string): X509Certificate {
  if (!CERTIFICATE.test(text))
    throw new Error(`${name} has no certificate: it must be a PEM file with "BEGIN CERTIFICATE"`);
  try {
    return new X509Certificate(text);
  } catch (cause) {
    throw new Error(`${name} has a certificate that cannot be parsed: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function parsePrivateKey(name: string, text: string): KeyObject {
  if (ENCRYPTED.test(text)) {
    throw new Error(`${name} is encrypted with a passphrase: decrypt it ("openssl pkey -in … -out …")`);
  }
  if (!PRIVATE_KEY.test(text))
    throw new Error(`${name} has no private key: it must be a PEM file with "BEGIN PRIVATE KEY"`);
  try {
    return createPrivateKey(text);
  } catch (cause) {
    throw new Error(`${name} has a private key that cannot be parsed: ${(cause as Error).message}`, {
      cause,
    });
  }
}
