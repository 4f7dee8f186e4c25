#Requires -Version 5.1
#Requires -RunAsAdministrator
# <comments>
[CmdletBinding()]
param([switch]$Restore)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# <plan>

$Stem = Join-Path $PSScriptRoot $Config.Name
$ResultsFile = "$Stem.jsonl"
$SettingsFile = "$Stem-settings.xml"
$StateFile = "$Stem-state.xml"
$Utf8 = New-Object System.Text.UTF8Encoding($false)

function Invoke-Netsh([string[]]$Arguments) {
    $output = & netsh.exe @Arguments
    if ($LASTEXITCODE -ne 0) { throw "netsh $($Arguments -join ' ') failed: $($output -join ' ')" }
    return $output
}

# The labels are in the language of the system. The first number is the initial RTO; above it are, upwards: timestamps,
# ECN, add-on provider, level of auto-tuning.
function Get-GlobalSetting {
    $values = @()
    foreach ($line in (Invoke-Netsh @('int', 'tcp', 'show', 'global'))) {
        if ($line -match '[:\uFF1A]\s*(\S+)\s*$') { $values += $Matches[1].ToLowerInvariant() }
    }
    for ($i = 0; $i -lt $values.Count; $i++) {
        if ($values[$i] -match '^[0-9]+$') { break }
    }
    if (($i -lt 4) -or ($i -ge $values.Count)) { throw 'The output of netsh int tcp show global was not understood.' }
    return @{ AutoTuning = $values[$i - 4]; Ecn = $values[$i - 2] }
}

function Get-Provider {
    $setting = Get-NetTCPSetting -SettingName $Config.Template
    return "$($setting.CongestionProvider)".ToLowerInvariant()
}

function Assert-Setting([string]$What, [string]$Is, [string]$Wanted) {
    if ($Is -ne $Wanted) { throw "$What is '$Is' after it was set to '$Wanted': the setting did not take." }
}

function Set-Provider([string]$Provider) {
    $null = Invoke-Netsh @('int', 'tcp', 'set', 'supplemental', "template=$($Config.Template)", "congestionprovider=$Provider")
    Assert-Setting "The congestion provider of template $($Config.Template)" (Get-Provider) $Provider
}

function Set-AutoTuning([string]$Level) {
    $null = Invoke-Netsh @('int', 'tcp', 'set', 'global', "autotuninglevel=$Level")
    Assert-Setting 'The level of auto-tuning' (Get-GlobalSetting).AutoTuning $Level
}

function Set-Ecn([string]$Capability) {
    $null = Invoke-Netsh @('int', 'tcp', 'set', 'global', "ecncapability=$Capability")
    Assert-Setting 'The ECN capability' (Get-GlobalSetting).Ecn $Capability
}

function Get-FilterKey($Filter) {
    return @($Filter.SettingName, $Filter.Protocol, $Filter.LocalPortStart, $Filter.LocalPortEnd,
        $Filter.RemotePortStart, $Filter.RemotePortEnd, $Filter.DestinationPrefix) -join '|'
}

function Add-Filter {
    $arguments = @{ SettingName = $Config.Template; Protocol = 'TCP' }
    if ($Config.Prefix) { $arguments.DestinationPrefix = $Config.Prefix }
    if ($Config.RemotePort) {
        $arguments.RemotePortStart = $Config.RemotePort
        $arguments.RemotePortEnd = $Config.RemotePort
    }
    if ($arguments.Count -gt 2) { $null = New-NetTransportFilter @arguments }
}

function Remove-AddedFilter([string[]]$Before) {
    foreach ($filter in @(Get-NetTransportFilter | Where-Object { $_.SettingName -eq $Config.Template })) {
        if ($Before -notcontains (Get-FilterKey $filter)) { $filter | Remove-NetTransportFilter -Confirm:$false }
    }
}

function Assert-Host {
    $system = Get-CimInstance -ClassName Win32_OperatingSystem
    $build = [int]$system.BuildNumber
    $isServer = $system.ProductType -ne 1
    if (($isServer -ne $Config.IsServer) -or ($build -lt $Config.FirstBuild) -or ($build -gt $Config.LastBuild)) {
        throw "This is $($system.Caption), build $build; the plan is for $($Config.Version). Make a plan for this version."
    }
    if (-not (Get-Command curl.exe -ErrorAction SilentlyContinue)) { throw 'There is no curl.exe. Install curl.' }
    if ($Config.Capture -and -not (Get-Command pktmon.exe -ErrorAction SilentlyContinue)) {
        throw 'There is no pktmon.exe: it came with Windows 10 1809. Make a plan without --capture.'
    }
    if (Test-Path $ResultsFile) { throw "$ResultsFile exists. Move it, or make a plan with another --name." }
    if (Test-Path $StateFile) { throw "$StateFile exists: an earlier run was not restored. Run this script with -Restore." }
    if ($Config.Ecn -eq 'enabled') {
        $marking = @(Get-NetIPInterface | Where-Object { @('Disabled', 'UseEct0', 'UseEct1') -contains "$($_.EcnMarking)" })
        if ($marking.Count) { Write-Warning "ECN has no effect on interfaces with this EcnMarking: $($marking.InterfaceAlias -join ', ')" }
    }
    return $build
}

function Save-State {
    Get-NetTCPSetting | Export-Clixml -Path $SettingsFile
    $current = Get-GlobalSetting
    $filters = @(Get-NetTransportFilter | ForEach-Object { Get-FilterKey $_ })
    @{ Template = $Config.Template; Provider = Get-Provider; AutoTuning = $current.AutoTuning; Ecn = $current.Ecn; Filters = $filters } |
        Export-Clixml -Path $StateFile
}

function Restore-State {
    $state = Import-Clixml -Path $StateFile
    $failures = @()
    try { Remove-AddedFilter @($state.Filters) } catch { $failures += "$_" }
    try { if ((Get-Provider) -ne $state.Provider) { Set-Provider $state.Provider } } catch { $failures += "$_" }
    try {
        $current = Get-GlobalSetting
        if ($current.AutoTuning -ne $state.AutoTuning) { Set-AutoTuning $state.AutoTuning }
    } catch { $failures += "$_" }
    try {
        $current = Get-GlobalSetting
        if ($current.Ecn -ne $state.Ecn) { Set-Ecn $state.Ecn }
    } catch { $failures += "$_" }
    if ($failures.Count) { throw "The state in $StateFile was not restored: $($failures -join ' ') Run this script with -Restore." }
    Remove-Item -Path $StateFile
    Write-Host 'The settings are restored.'
}

function Add-Result($Row) {
    [System.IO.File]::AppendAllText($ResultsFile, (ConvertTo-Json -InputObject $Row -Compress) + "`n", $Utf8)
}

function Get-CurlArgument([string]$UploadFile) {
    $arguments = @('--silent', '--show-error', '--fail', '--noproxy', '*', '--max-time', $Config.TimeoutS, '--output', 'NUL',
        '--write-out', '%{size_upload},%{size_download},%{time_pretransfer},%{time_total},%{http_code}')
    if ($Config.Direction -eq 'upload') { $arguments += @('--upload-file', "`"$UploadFile`"") }
    return $arguments + "`"$($Config.Url)`""
}

# Only the headers: 128 bytes of a packet have those of Ethernet, IPv6 and TCP.
function Start-Capture([string]$File) {
    & pktmon.exe filter remove | Out-Null
    & pktmon.exe filter add cwndlab -t TCP -p $Config.CapturePort | Out-Null
    & pktmon.exe start --capture --comp nics --pkt-size 128 --file-name $File | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "pktmon start failed with status $LASTEXITCODE." }
}

function Stop-Capture([string]$File, [string]$Capture) {
    & pktmon.exe stop | Out-Null
    & pktmon.exe filter remove | Out-Null
    & pktmon.exe etl2pcap $File --out $Capture | Out-Null
    if (-not (Test-Path $Capture)) { & pktmon.exe pcapng $File -o $Capture | Out-Null }
    if (-not (Test-Path $Capture)) { throw "pktmon did not convert $File." }
    Remove-Item -Path $File
}

function Invoke-Transfer($Step, [string]$UploadFile) {
    $output = [System.IO.Path]::GetTempFileName()
    $errors = [System.IO.Path]::GetTempFileName()
    $at = (Get-Date).ToUniversalTime().ToString('yyyy-MM-ddTHH:mm:ss.ffffffZ', [cultureinfo]::InvariantCulture)
    $process = $null
    try {
        $process = Start-Process -FilePath curl.exe -ArgumentList (Get-CurlArgument $UploadFile) -NoNewWindow -PassThru `
            -RedirectStandardOutput $output -RedirectStandardError $errors
        # Without the handle there is no exit code.
        $null = $process.Handle
        $applied = ''
        while (-not $process.HasExited) {
            if (-not $applied) {
                $connection = Get-NetTCPConnection -OwningProcess $process.Id -State Established -ErrorAction SilentlyContinue |
                    Select-Object -First 1
                if ($connection) { $applied = "$($connection.AppliedSetting)" }
            }
            Start-Sleep -Milliseconds 100
        }
        $process.WaitForExit()
        $written = @("$(Get-Content -Raw -Path $output)".Trim() -split ',')
        $message = "$(Get-Content -Raw -Path $errors)".Trim()
    } finally {
        if ($process -and (-not $process.HasExited)) { $process.Kill() }
        Remove-Item -Path $output, $errors -ErrorAction SilentlyContinue
    }
    Assert-Provider $Step $applied
    $row = [ordered]@{ kind = 'transfer'; round = $Step.Round; position = $Step.Position; treatment = $Step.Treatment
        provider = $Step.Provider; autotuning = $Step.AutoTuning; applied_setting = $applied; at = $at
        ended = 'failed'; bytes = 0; seconds = 0; why = ''; capture = '' }
    if ($Config.Capture) { $row.capture = $Step.Capture }
    if (($process.ExitCode -eq 0) -and ($written.Count -eq 5)) {
        $numbers = @($written | ForEach-Object { [double]::Parse($_, [cultureinfo]::InvariantCulture) })
        $bytes = $numbers[1]
        if ($Config.Direction -eq 'upload') { $bytes = $numbers[0] }
        $row.ended = 'complete'
        $row.bytes = [long]$bytes
        $row.seconds = $numbers[3] - $numbers[2]
    } else {
        $row.why = "curl exit status $($process.ExitCode) $message".Trim()
    }
    Add-Result $row
    Write-Host "round $($Step.Round): $($Step.Treatment): $($row.ended)"
}

# A policy or another program may change the provider meanwhile, and a filter may miss the connection.
function Assert-Provider($Step, [string]$Applied) {
    Assert-Setting "The congestion provider of template $($Config.Template)" (Get-Provider) $Step.Provider
    if ($Applied -and ($Applied -ne $Config.Template)) {
        throw "The connection used template $Applied, not $($Config.Template). Widen the filter, or make a plan with --template $Applied."
    }
}

if ($Restore) {
    if (-not (Test-Path $StateFile)) { throw "There is no ${StateFile}: nothing is to be restored." }
    Restore-State
    return
}
$Build = Assert-Host
$UploadFile = $null
Save-State
try {
    $UploadFile = [System.IO.Path]::GetTempFileName()
    $stream = [System.IO.File]::OpenWrite($UploadFile)
    try { $stream.SetLength($Config.SizeBytes) } finally { $stream.Dispose() }
    Add-Result ([ordered]@{ kind = 'plan'; schema_version = $Config.SchemaVersion; version = $Config.Version; build = $Build
        template = $Config.Template; direction = $Config.Direction; url = $Config.Url; size_bytes = $Config.SizeBytes
        ecn = $Config.Ecn; seed = $Config.Seed; rounds = $Config.Rounds; treatments = $Treatments })
    Add-Filter
    if ($Config.Ecn) { Set-Ecn $Config.Ecn }
    foreach ($step in $Steps) {
        Set-Provider $step.Provider
        if ($step.AutoTuning) { Set-AutoTuning $step.AutoTuning }
        if ($Config.Capture) {
            $Trace = "$Stem.etl"
            $Capture = Join-Path $PSScriptRoot $step.Capture
            Start-Capture $Trace
            try { Invoke-Transfer $step $UploadFile } finally { Stop-Capture $Trace $Capture }
        } else {
            Invoke-Transfer $step $UploadFile
        }
        Start-Sleep -Seconds $Config.PauseS
    }
} catch {
    Write-Warning "The campaign ended early: $_"
    throw
} finally {
    if ($UploadFile) { Remove-Item -Path $UploadFile -ErrorAction SilentlyContinue }
    Restore-State
}
Write-Host "Results: $ResultsFile"
