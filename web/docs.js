/** Starts Swagger UI on the service's own OpenAPI document. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  // Otherwise Swagger UI sends the document's address to a validator on another host.
  validatorUrl: null,
  requestSnippetsEnabled: false,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
});
